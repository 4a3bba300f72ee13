// convert.js: the protocol's values as the editor's. Both count lines from 0 and characters in UTF-16 units.
'use strict';

module.exports = function (vscode) {
    const uri = (text) => vscode.Uri.parse(text);
    const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
    const location = (l) => new vscode.Location(uri(l.uri), range(l.range));
    const markdown = (text) => new vscode.MarkdownString(text);
    const edit = (e) => new vscode.TextEdit(range(e.range), e.newText);
    // The protocol counts kinds of symbols and completions from 1, the editor from 0.
    const kind = (number) => number - 1;

    function workspaceEdit(answer) {
        const result = new vscode.WorkspaceEdit();
        for (const [file, edits] of Object.entries(answer?.changes ?? {})) result.set(uri(file), edits.map(edit));
        return result;
    }

    function diagnostic(d) {
        const result = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
        result.source = d.source;
        result.relatedInformation = (d.relatedInformation ?? []).map(
            (r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
        return result;
    }

    function completion(c) {
        const result = new vscode.CompletionItem(c.label, kind(c.kind));
        result.detail = c.detail;
        if (c.documentation) result.documentation = markdown(c.documentation);
        return result;
    }

    function symbol(s) {
        const result = new vscode.DocumentSymbol(s.name, s.detail ?? '', kind(s.kind), range(s.range), range(s.selectionRange));
        result.children = (s.children ?? []).map(symbol);
        return result;
    }

    function signatureHelp(answer) {
        const result = new vscode.SignatureHelp();
        result.signatures = answer.signatures.map((s) => {
            const signature = new vscode.SignatureInformation(s.label, s.documentation && markdown(s.documentation.value));
            signature.parameters = s.parameters.map((p) => new vscode.ParameterInformation(p.label));
            return signature;
        });
        result.activeSignature = answer.activeSignature;
        result.activeParameter = answer.activeParameter;
        return result;
    }

    function action(a) {
        const result = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
        result.diagnostics = a.diagnostics.map(diagnostic);
        result.edit = workspaceEdit(a.edit);
        result.isPreferred = a.isPreferred;
        return result;
    }

    const lens = (l) => new vscode.CodeLens(range(l.range), l.command);
    const found = (s) => new vscode.SymbolInformation(s.name, kind(s.kind), '', location(s.location));
    const hover = (h) => new vscode.Hover(markdown(h.contents.value), range(h.range));
    return { uri, range, location, edit, workspaceEdit, diagnostic, completion, symbol, signatureHelp, action, lens, found, hover };
};
