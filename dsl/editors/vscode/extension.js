// extension.js: starts `tfy lsp` and passes the editor's questions on to it.
'use strict';
const vscode = require('vscode');
const { Client } = require('./client.js');
const to = require('./convert.js')(vscode);

const selector = { language: 'tfy' };
let client, output, diagnostics, providers = [];

const settings = () => vscode.workspace.getConfiguration('tfy');
const isOurs = (document) => document.languageId === 'tfy';
const named = (document) => ({ textDocument: { uri: document.uri.toString() } });
const at = (document, position) =>
    ({ ...named(document), position: { line: position.line, character: position.character } });
const rangeOf = (range) => ({ start: { line: range.start.line, character: range.start.character },
                              end: { line: range.end.line, character: range.end.character } });

// Asks, and gives `otherwise` where the server has no answer. The refusals of a rename are shown by the editor.
async function ask(method, params, token, convert, otherwise) {
    const cancel = token && { onCancelled: (done) => token.onCancellationRequested(done) };
    const answer = await client.request(method, params, cancel);
    return answer === null || answer === undefined ? otherwise : convert(answer);
}

// For questions that the editor asks by itself: a failure is logged, and nobody is disturbed.
async function askQuietly(...question) {
    try {
        return await ask(...question);
    } catch (error) {
        output.appendLine(`${question[0]}: ${error.message}`);
        return question[4];
    }
}

const each = (convert) => (answers) => answers.map(convert);

function register(legend) {
    const { languages } = vscode;
    return [
        languages.registerHoverProvider(selector, {
            provideHover: (d, p, t) => askQuietly('textDocument/hover', at(d, p), t, to.hover, null) }),
        languages.registerDefinitionProvider(selector, {
            provideDefinition: (d, p, t) => askQuietly('textDocument/definition', at(d, p), t, to.location, null) }),
        languages.registerReferenceProvider(selector, {
            provideReferences: (d, p, context, t) => askQuietly('textDocument/references',
                { ...at(d, p), context: { includeDeclaration: context.includeDeclaration } }, t, each(to.location), []) }),
        languages.registerRenameProvider(selector, {
            prepareRename: (d, p, t) => ask('textDocument/prepareRename', at(d, p), t,
                (a) => ({ range: to.range(a.range), placeholder: a.placeholder }), null).then((found) => {
                if (!found) throw new Error('there is no name here');
                return found;
            }),
            provideRenameEdits: (d, p, newName, t) =>
                ask('textDocument/rename', { ...at(d, p), newName }, t, to.workspaceEdit, null) }),
        languages.registerCompletionItemProvider(selector, {
            provideCompletionItems: (d, p, t) =>
                askQuietly('textDocument/completion', at(d, p), t, each(to.completion), []) }, '.'),
        languages.registerSignatureHelpProvider(selector, {
            provideSignatureHelp: (d, p, t) =>
                askQuietly('textDocument/signatureHelp', at(d, p), t, to.signatureHelp, null) }, '(', ','),
        languages.registerDocumentSymbolProvider(selector, {
            provideDocumentSymbols: (d, t) =>
                askQuietly('textDocument/documentSymbol', named(d), t, each(to.symbol), []) }),
        languages.registerWorkspaceSymbolProvider({
            provideWorkspaceSymbols: (query, t) => askQuietly('workspace/symbol', { query }, t, each(to.found), []) }),
        languages.registerDocumentFormattingEditProvider(selector, {
            provideDocumentFormattingEdits: (d, options, t) =>
                askQuietly('textDocument/formatting', { ...named(d), options }, t, each(to.edit), []) }),
        languages.registerCodeActionsProvider(selector, {
            provideCodeActions: (d, range, context, t) => askQuietly('textDocument/codeAction',
                { ...named(d), range: rangeOf(range), context: { diagnostics: [] } }, t, each(to.action), []) },
            { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
        languages.registerCodeLensProvider(selector, {
            provideCodeLenses: (d, t) => askQuietly('textDocument/codeLens', named(d), t, each(to.lens), []) }),
        languages.registerDocumentSemanticTokensProvider(selector, {
            provideDocumentSemanticTokens: (d, t) => askQuietly('textDocument/semanticTokens/full', named(d), t,
                (a) => new vscode.SemanticTokens(new Uint32Array(a.data)), null) },
            new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)),
    ];
}

/* ---- what the server is told ---- */

function opened(document) {
    if (!isOurs(document)) return;
    const item = { uri: document.uri.toString(), languageId: 'tfy', version: document.version, text: document.getText() };
    client?.notify('textDocument/didOpen', { textDocument: item });
}

function changed(event) {
    if (!isOurs(event.document) || !event.contentChanges.length) return;
    client?.notify('textDocument/didChange', {
        textDocument: { uri: event.document.uri.toString(), version: event.document.version },
        contentChanges: event.contentChanges.map((change) => ({ range: rangeOf(change.range), text: change.text })),
    });
}

function closed(document) {
    if (isOurs(document)) client?.notify('textDocument/didClose', named(document));
}

/* ---- life ---- */

async function start() {
    const args = ['lsp', ...settings().get('include', []).flatMap((directory) => ['-I', directory])];
    const folders = (vscode.workspace.workspaceFolders ?? []).map((f) => ({ uri: f.uri.toString(), name: f.name }));
    const cwd = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === 'file')?.uri.fsPath;
    const started = new Client(settings().get('path', 'tfy'), args, { cwd }, {
        notification: (method, params) => {
            if (method !== 'textDocument/publishDiagnostics') return;
            diagnostics.set(to.uri(params.uri), params.diagnostics.map(to.diagnostic));
        },
        log: (text) => output.append(text),
        closed: (reason) => {
            output.appendLine(reason);
            if (client !== started) return;
            client = undefined;
            vscode.window.showErrorMessage(`tfy: ${reason}; 'tfy.path' names the command`);
        },
    });
    client = started;
    const answer = await client.initialize({
        processId: process.pid,
        rootUri: folders[0]?.uri ?? null,
        workspaceFolders: folders,
        capabilities: { textDocument: { signatureHelp: { signatureInformation: { parameterInformation: { labelOffsetSupport: true } } } } },
    });
    providers = register(answer.capabilities.semanticTokensProvider.legend);
    vscode.workspace.textDocuments.forEach(opened);
}

async function stop() {
    const stopped = client;
    client = undefined;
    providers.splice(0).forEach((provider) => provider.dispose());
    diagnostics.clear();
    await stopped?.stop();
}

async function restart() {
    await stop();
    await start().catch((error) => output.appendLine(error.message));
}

// In a task of its own, without a shell: the name of a test is anybody's text.
function runTest(file, name) {
    const test = new vscode.ProcessExecution(settings().get('path', 'tfy'), ['test', to.uri(file).fsPath, '--filter', name]);
    const task = new vscode.Task({ type: 'tfy', test: name }, vscode.TaskScope.Workspace, name, 'tfy test', test, []);
    return vscode.tasks.executeTask(task);
}

async function activate(context) {
    output = vscode.window.createOutputChannel('tfy');
    diagnostics = vscode.languages.createDiagnosticCollection('tfy');
    context.subscriptions.push(output, diagnostics,
        vscode.workspace.onDidOpenTextDocument(opened),
        vscode.workspace.onDidChangeTextDocument(changed),
        vscode.workspace.onDidCloseTextDocument(closed),
        vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration('tfy') && restart()),
        vscode.commands.registerCommand('tfy.runTest', runTest),
        vscode.commands.registerCommand('tfy.restart', restart));
    if (vscode.workspace.isTrusted) await restart();
    else context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(restart));
}

module.exports = { activate, deactivate: stop };
