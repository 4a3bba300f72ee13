// vscode.js EXTENSION: runs the extension without the editor. What it uses of the editor is stood in for by the objects
// below; the server is the real one. Prints what the editor would get to show.
'use strict';
const Module = require('node:module');
const path = require('node:path');
const fs = require('node:fs');

const directory = path.resolve(process.argv[2]);
const providers = {}, commands = {}, events = {}, shown = new Map(), tasks = [], logged = [];
let told = () => {};

class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range {
    constructor(a, b, c, d) { this.start = new Position(a, b); this.end = new Position(c, d); }
    toString() { return `${this.start.line + 1}:${this.start.character + 1}-${this.end.line + 1}:${this.end.character + 1}`; }
}
const keeps = (...names) => class { constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); } };
class Uri {
    static parse(text) { const uri = new Uri(); uri.text = text; return uri; }
    toString() { return this.text; }
    get fsPath() { return decodeURIComponent(new URL(this.text).pathname); }
    get scheme() { return 'file'; }
}
class WorkspaceEdit { constructor() { this.files = []; } set(uri, edits) { this.files.push([uri, edits]); } }
const listen = (name) => (listener) => { events[name] = listener; return { dispose() {} }; };
const provide = (name) => (...values) => {
    providers[name] = values.find((value) => Object.values(value ?? {}).some((part) => typeof part === 'function'));
    return { dispose() { delete providers[name]; } };
};

const root = Uri.parse(`file://${process.cwd()}`);
const languages = { createDiagnosticCollection: () => ({
    set(uri, list) { shown.set(uri.toString(), list); told(); }, clear() { shown.clear(); }, dispose() {} }) };
for (const name of ['Hover', 'Definition', 'Reference', 'Rename', 'CompletionItem', 'SignatureHelp', 'DocumentSymbol', 'WorkspaceSymbol',
    'DocumentFormattingEdit', 'CodeActions', 'CodeLens', 'DocumentSemanticTokens']) languages[`register${name}Provider`] = provide(name);
const vscode = {
    Position, Range, Uri, WorkspaceEdit, languages,
    Location: keeps('uri', 'range'), MarkdownString: keeps('value'), TextEdit: keeps('range', 'newText'), Hover: keeps('contents', 'range'),
    Diagnostic: keeps('range', 'message', 'severity'), DiagnosticRelatedInformation: keeps('location', 'message'),
    CompletionItem: keeps('label', 'kind'), DocumentSymbol: keeps('name', 'detail', 'kind', 'range', 'selectionRange'),
    SignatureHelp: keeps(), SignatureInformation: keeps('label', 'documentation'), ParameterInformation: keeps('label'),
    CodeAction: keeps('title', 'kind'), CodeActionKind: { QuickFix: 'quickfix' }, CodeLens: keeps('range', 'command'),
    SymbolInformation: keeps('name', 'kind', 'container', 'location'), SemanticTokens: keeps('data'), SemanticTokensLegend: keeps('types', 'modifiers'),
    ProcessExecution: keeps('command', 'args'), Task: keeps('definition', 'scope', 'name', 'source', 'execution'), TaskScope: { Workspace: 2 },
    tasks: { executeTask: (task) => tasks.push(task) },
    commands: { registerCommand: (name, run) => { commands[name] = run; return { dispose() {} }; } },
    window: { createOutputChannel: () => ({ append: (t) => logged.push(t), appendLine: (t) => logged.push(t), dispose() {} }),
        showErrorMessage: (text) => console.log('error shown:', text.replace(/spawn.*ENOENT/, 'no such command')) },
    workspace: { isTrusted: true, workspaceFolders: [{ uri: root, name: 'root' }], textDocuments: [],
        getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise }),
        onDidOpenTextDocument: listen('open'), onDidChangeTextDocument: listen('change'), onDidCloseTextDocument: listen('close'),
        onDidChangeConfiguration: listen('settings'), onDidGrantWorkspaceTrust: listen('trust') },
};
const settings = { path: process.env.TFY };
const load = Module._load;
Module._load = (name, ...more) => (name === 'vscode' ? vscode : load(name, ...more));

function documentOf(name) {
    const uri = Uri.parse(`file://${process.cwd()}/${name}`);
    return { uri, languageId: 'tfy', version: 1, text: fs.readFileSync(name, 'utf8'), getText() { return this.text; } };
}
const base = (uri) => path.basename(uri.toString());
const token = { onCancellationRequested() {} };
const diagnosed = () => new Promise((resolve) => { told = resolve; });
const printEdit = (edit) => edit.files.forEach(([uri, edits]) =>
    console.log('  edits', base(uri), edits.map((e) => `${e.range} ${e.newText}`).join(', ')));

async function main() {
    const extension = require(path.join(directory, 'extension.js'));
    const context = { subscriptions: [] };
    const main = documentOf('main.tfy');
    vscode.workspace.textDocuments.push(main);
    let wait = diagnosed();
    await extension.activate(context);
    await wait;
    const mistakes = shown.get(main.uri.toString());
    console.log('mistakes:', mistakes.map((d) => `${d.range} ${d.severity} ${d.message}`).join('; '));
    const actions = await providers.CodeActions.provideCodeActions(main, mistakes[0].range, {}, token);
    actions.forEach((action) => { console.log('action:', action.title); printEdit(action.edit); });

    const change = { range: mistakes[0].range, text: actions[0].edit.files[0][1][0].newText };
    main.version = 2;
    wait = diagnosed();
    events.change({ document: main, contentChanges: [change] });
    await wait;
    console.log('mistakes after the edit:', shown.get(main.uri.toString()).length);

    const at = new Position(3, 21); // the name of the imported function
    console.log('hover:', (await providers.Hover.provideHover(main, at, token)).contents.value.split('\n')[1]);
    const target = await providers.Definition.provideDefinition(main, at, token);
    console.log('definition:', base(target.uri), String(target.range));
    const uses = await providers.Reference.provideReferences(main, at, { includeDeclaration: true }, token);
    console.log('references:', uses.map((use) => `${base(use.uri)} ${use.range}`).join(', '));
    console.log('prepared:', (await providers.Rename.prepareRename(main, at, token)).placeholder);
    printEdit(await providers.Rename.provideRenameEdits(main, at, 'dashed', token));
    for (const name of ['while', 'other'])
        await providers.Rename.provideRenameEdits(main, at, name, token).catch((error) => console.log('refused:', error.message));
    const help = await providers.SignatureHelp.provideSignatureHelp(main, new Position(3, 26), token);
    console.log('signature:', help.signatures[0].label, JSON.stringify(help.signatures[0].parameters[help.activeParameter].label));
    const items = await providers.CompletionItem.provideCompletionItems(main, new Position(3, 22), token);
    console.log('completions:', items.map((item) => `${item.label} ${item.kind}`).join(', '));
    const symbols = await providers.DocumentSymbol.provideDocumentSymbols(main, token);
    console.log('symbols:', symbols.map((symbol) => `${symbol.name} ${symbol.kind}`).join(', '));
    console.log('found:', (await providers.WorkspaceSymbol.provideWorkspaceSymbols('slu', token)).map((s) => s.name).join(', '));
    console.log('formatted:', (await providers.DocumentFormattingEdit.provideDocumentFormattingEdits(main, {}, token)).length, 'edits');
    console.log('tokens:', (await providers.DocumentSemanticTokens.provideDocumentSemanticTokens(main, token)).data.length / 5);
    const [lens] = await providers.CodeLens.provideCodeLenses(main, token);
    await commands[lens.command.command](...lens.command.arguments);
    console.log('task:', tasks[0].execution.args.map((word) => path.basename(word)).join(' '));

    events.close(main);
    await extension.deactivate();
    console.log('providers left:', Object.keys(providers).length);
    settings.path = '/nowhere/tfy';
    await commands['tfy.restart']();
    console.log('logged:', logged.filter((text) => !/ENOENT/.test(text)).join('; '));
}

main().catch((error) => { console.log(error); process.exit(1); });
