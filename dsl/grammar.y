// grammar.y: the grammar of the language for lemon.
//
// Actions only call ast_* builders (ast_build.h). NL is a newline or ';' where the parser lets it end a statement:
// parse.c decides. BAD is in no rule: feeding it makes lemon drop its stack down to the nearest `error`, and
// parse.c skips the text that belongs to it. There is one rule per precedence level of binary operators, so that the
// tables hold no default reductions over a bad lookahead.

%name grammar_
%token_prefix TOK_
%token_type {Token}
%extra_context {Build *b}
%start_symbol file
%stack_size 0

%include {
#include "ast_build.h"
#include "grammar.h"
#include "grammar_probe.h"
#include <stdlib.h>
}

%token BAD.
%fallback ID TOOL TYPE ERROR TEST ENUM CONST IMPORT TASK EXEC MCP EXTERN HTTP MOCK AS LIMIT DETACHED FAILS PURE
  IDEMPOTENT ONCE DANGEROUS RATE PROMPT RETRY BACKOFF TIMEOUT UNDO KEY APPROVE JSON ON AFTER NEVER TRUSTED
  UNTRUSTED SANDBOX TOOLS TIMES LOCAL PRIVATE.
%left OR.
%left AND.
%left EQ NE LT LE GT GE.
%right COALESCE.
%left PLUS MINUS.
%left STAR SLASH PERCENT.
%right NOT UMINUS.
// fn(T) -> U? gives a U?.
%nonassoc FNTYPE.
%left QUEST.

// ---- declarations ----

%type decl {Decl *}
%type attrs {AttrList}
%type attr {Attr *}
%type prows {PromptRowList}
%type offers {OfferList}
%type offer {Offer *}
%type ouse {PolicyList}
%type throws {Fails}
%type idlist {BindingList}
%type qid {CatchName *}
%type qlist {CatchNameList}
%type prov {Provider *}
%type srows {ServerRowList}
%type srow {ServerRow *}
%type fields {FieldList}
%type field {Field *}
%type cases {EnumCaseList}
%type case {EnumCase *}
%type sig {Signature}
%type ret {Result}
%type params {FieldList}
%type plist {FieldList}
%type param {Field *}
%type type {TypeExpr *}
%type tlist {TypeExprList}
%type tann {TypeExpr *}
%type name {Name}

file ::= decls.
decls ::= .
decls ::= decls NL.
decls ::= decls decl(D) NL. { ast_add_decl(b, D); }
decls ::= decls error NL.

decl(A) ::= IMPORT(K) str(S). { A = ast_import(b, K, S, NULL); }
decl(A) ::= IMPORT(K) str(S) AS ID(N). { A = ast_import(b, K, S, &N); }
decl(A) ::= CONST(K) ID(N) tann(T) ASSIGN opx(V). { A = ast_const(b, K, N, T, V); }
decl(A) ::= TYPE(K) ID(N) LBRACE fields(F) RBRACE. { A = ast_record(b, DECL_TYPE, K, N, F); }
decl(A) ::= ERROR(K) ID(N) LBRACE fields(F) RBRACE. { A = ast_record(b, DECL_ERROR, K, N, F); }
decl(A) ::= ERROR(K) ID(N). { A = ast_record(b, DECL_ERROR, K, N, (FieldList){0}); }
decl(A) ::= ENUM(K) ID(N) LBRACE cases(C) RBRACE. { A = ast_enum(b, K, N, C); }
decl(A) ::= TOOL(K) ID(N) sig(S) attrs(T) ASSIGN prov(P). { A = ast_tool(b, K, N, S, T, P); }
decl(A) ::= PROMPT(K) ID(N) sig(S) attrs(T) throws(F) LBRACE prows(R) RBRACE. {
    A = ast_prompt(b, K, N, S, T, F, R);
}
decl(A) ::= SANDBOX(K) ID(N) LBRACE prows(R) RBRACE. { A = ast_sandbox(b, K, N, R); }
decl(A) ::= MCP(K) ID(N) ASSIGN prov(P) attrs(T). { A = ast_server(b, K, N, P, T, (ServerRowList){0}); }
decl(A) ::= MCP(K) ID(N) ASSIGN prov(P) attrs(T) LBRACE srows(R) RBRACE. { A = ast_server(b, K, N, P, T, R); }
decl(A) ::= FN(K) ID(N) sig(S) block(B). { A = ast_fn(b, K, N, NULL, S, B); }
decl(A) ::= FN(K) ID(N) LT idlist(T) GT sig(S) block(B). { A = ast_fn(b, K, N, T.first, S, B); }
decl(A) ::= WORKFLOW(K) ID(N) sig(S) throws(F) block(B). { A = ast_workflow(b, K, N, S, F, B); }
decl(A) ::= TEST(K) str(S) block(B). { A = ast_test(b, K, S, B); }

attrs(A) ::= . { A = (AttrList){0}; }
attrs(A) ::= attrs(L) attr(X). { A = attr_push(L, X); }
attr(A) ::= PURE(K). { A = ast_attr(b, ATTR_PURE, K); }
attr(A) ::= IDEMPOTENT(K). { A = ast_attr(b, ATTR_IDEMPOTENT, K); }
attr(A) ::= ONCE(K). { A = ast_attr(b, ATTR_ONCE, K); }
attr(A) ::= DANGEROUS(K). { A = ast_attr(b, ATTR_DANGEROUS, K); }
attr(A) ::= LOCAL(K). { A = ast_attr(b, ATTR_LOCAL, K); }
attr(A) ::= PRIVATE(K). { A = ast_attr(b, ATTR_PRIVATE, K); }
attr(A) ::= LIMIT(K) INT(N). { A = ast_attr_limit(b, K, N); }
attr(A) ::= RATE(K) INT(N) SLASH DUR(D). { A = ast_attr_rate(b, K, N, D); }
attr(A) ::= SANDBOX(K) qid(Q). { A = ast_attr_sandbox(b, K, Q); }

prows(A) ::= . { A = (PromptRowList){0}; }
prows(A) ::= prows(L) NL. { A = L; }
prows(A) ::= prows(L) name(N) opx(V) NL. { A = prompt_row_push(L, ast_prompt_row(b, N, V)); }
prows(A) ::= prows(L) TOOLS(K) LBRACE offers(O) RBRACE NL. { A = prompt_row_push(L, ast_tools_row(b, K, O)); }
offers(A) ::= . { A = (OfferList){0}; }
offers(A) ::= offers(L) NL. { A = L; }
offers(A) ::= offers(L) offer(X) sep. { A = offer_push(L, X); }
offer(A) ::= qid(Q) ouse(P). { A = ast_offer(b, Q, P); }
ouse(A) ::= . { A = (PolicyList){0}; }
ouse(A) ::= ouse(L) pol(P). { A = policy_push(L, P); }
ouse(A) ::= ouse(L) TIMES(K) opx(V). { A = policy_push(L, ast_policy(b, POL_TIMES, K, V, NULL)); }

srows(A) ::= . { A = (ServerRowList){0}; }
srows(A) ::= srows(L) NL. { A = L; }
srows(A) ::= srows(L) srow(R) sep. { A = server_row_push(L, R); }
srow(A) ::= name(N) COLON attrs(T). { A = ast_server_row(b, N, T, NULL); }
srow(A) ::= name(N) opx(V). { A = ast_server_row(b, N, (AttrList){0}, V); }

throws(A) ::= . { A = (Fails){0}; }
throws(A) ::= FAILS qlist(L). { A = (Fails){true, L.first}; }
idlist(A) ::= ID(N). { A = binding_push((BindingList){0}, ast_binding(b, N)); }
idlist(A) ::= idlist(L) COMMA ID(N). { A = binding_push(L, ast_binding(b, N)); }
qid(A) ::= ID(N). { A = ast_qualified(b, NULL, N); }
qid(A) ::= ID(M) DOT ID(N). { A = ast_qualified(b, &M, N); }
qlist(A) ::= qid(Q). { A = catch_name_push((CatchNameList){0}, Q); }
qlist(A) ::= qlist(L) COMMA qid(Q). { A = catch_name_push(L, Q); }

prov(A) ::= EXEC opx(V). { A = ast_provider(b, PROV_EXEC, V, NULL); }
prov(A) ::= MCP str(S) str(T). { A = ast_provider(b, PROV_MCP, S, T); }
prov(A) ::= EXTERN str(S). { A = ast_provider(b, PROV_EXTERN, S, NULL); }
prov(A) ::= HTTP str(S). { A = ast_provider(b, PROV_HTTP, S, NULL); }
prov(A) ::= prov(P) ID(N) opx(V). { A = ast_provider_option(b, P, N, V); }

fields(A) ::= . { A = (FieldList){0}; }
fields(A) ::= fields(L) NL. { A = L; }
fields(A) ::= fields(L) field(F) sep. { A = field_push(L, F); }
fields(A) ::= fields(L) error NL. { A = L; }
field(A) ::= name(N) COLON type(T). { A = ast_field(b, N, T, NULL); }
field(A) ::= name(N) COLON type(T) ASSIGN opx(V). { A = ast_field(b, N, T, V); }
cases(A) ::= . { A = (EnumCaseList){0}; }
cases(A) ::= cases(L) NL. { A = L; }
cases(A) ::= cases(L) case(C) sep. { A = enum_case_push(L, C); }
case(A) ::= ID(N). { A = ast_enum_case(b, N, NULL); }
case(A) ::= ID(N) LP params(P) RP. { A = ast_enum_case(b, N, &P); }
sep ::= NL.
sep ::= COMMA.
sig(A) ::= LP params(P) RP ret(T). { A = (Signature){P.first, T}; }
ret(A) ::= . { A = (Result){0}; }
ret(A) ::= ARROW type(T). { A = (Result){.type = T}; }
ret(A) ::= ARROW TRUSTED|UNTRUSTED(L) type(T). { A = ast_labelled_result(b, L, T); }
params(A) ::= . { A = (FieldList){0}; }
params(A) ::= plist(L). { A = L; }
params(A) ::= plist(L) COMMA. { A = L; }
plist(A) ::= param(P). { A = field_push((FieldList){0}, P); }
plist(A) ::= plist(L) COMMA param(P). { A = field_push(L, P); }
param(A) ::= name(N) COLON type(T). { A = ast_field(b, N, T, NULL); }
param(A) ::= name(N) COLON type(T) ASSIGN opx(V). { A = ast_field(b, N, T, V); }
param(A) ::= name(N) COLON TRUSTED|UNTRUSTED(L) type(T). { A = ast_labelled(b, ast_field(b, N, T, NULL), L); }
param(A) ::= name(N) COLON TRUSTED|UNTRUSTED(L) type(T) ASSIGN opx(V). {
    A = ast_labelled(b, ast_field(b, N, T, V), L);
}

type(A) ::= qid(Q). { A = ast_type_name(b, Q); }
type(A) ::= ID(N) LT tlist(L) GT. { A = ast_type_generic(b, N, L.first); }
type(A) ::= type(T) QUEST. { A = ast_type_optional(b, T); }
type(A) ::= TASK(N) LT type(T) GT. { A = ast_type_generic(b, N, T); }
type(A) ::= FN(K) LP tlist(L) RP ARROW type(T). [FNTYPE] { A = ast_type_function(b, K, L.first, T); }
tlist(A) ::= type(T). { A = type_expr_push((TypeExprList){0}, T); }
tlist(A) ::= tlist(L) COMMA type(T). { A = type_expr_push(L, T); }

// ---- statements ----

%type block {Block *}
%type stmts {StmtList}
%type stmt {Stmt *}
%type ifs {Stmt *}
%type swith {With}
%type vars {Vars}
%type range {Range}
%type arms {ArmList}
%type arm {Arm *}
%type guard {Expr *}
%type pats {PatternList}
%type pat {Pattern *}
%type cid {Pattern *}
%type catches {CatchList}
%type cfields {CatchFieldList}
%type cfield {CatchField *}
%type idbar {CatchNameList}
%type fin {Block *}
%type tmo {Expr *}
%type head {Expr *}
%type eff {Expr *}
%type spawnx {Expr *}
%type conc {Expr *}
%type lbl {Name}
%type lim {Expr *}
%type parms {ParallelBodyList}
%type pent {ParallelBody *}
%type yexpr {Expr *}
%type call {Expr *}
%type pols {PolicyList}
%type pol {Policy *}

block(A) ::= LBRACE(L) stmts(S) RBRACE. { A = ast_block(b, L, S); }
stmts(A) ::= . { A = (StmtList){0}; }
stmts(A) ::= stmts(L) NL. { A = L; }
stmts(A) ::= stmts(L) stmt(S) NL. { A = stmt_push(L, S); }
stmts(A) ::= stmts(L) error NL. { A = stmt_push(L, ast_bad_stmt(b)); }

stmt(A) ::= LET(K) ID(N) tann(T) ASSIGN eff(V). { A = ast_binding_stmt(b, ST_LET, K, N, T, V); }
stmt(A) ::= VAR(K) ID(N) tann(T) ASSIGN eff(V). { A = ast_binding_stmt(b, ST_VAR, K, N, T, V); }
tann(A) ::= . { A = NULL; }
tann(A) ::= COLON type(T). { A = T; }
stmt(A) ::= path(P) ASSIGN(O) eff(V). { A = ast_assign(b, P, O, V); }
stmt(A) ::= path(P) PLUSEQ|MINUSEQ|STAREQ|SLASHEQ(O) opx(V). { A = ast_assign(b, P, O, V); }
stmt(A) ::= pcall(X). { A = ast_expr_stmt(b, X); }
stmt(A) ::= yexpr(X). { A = ast_expr_stmt(b, X); }
stmt(A) ::= YIELD(K) lbl(L). { A = ast_yield_stmt(b, K, L); }
stmt(A) ::= spawnx(X). { A = ast_expr_stmt(b, X); }
spawnx(A) ::= SPAWN(K) call(X) swith(W). { A = ast_spawn(b, K, X, W, false); }
spawnx(A) ::= SPAWN(K) DETACHED call(X) swith(W). { A = ast_spawn(b, K, X, W, true); }
swith(A) ::= . { A = (With){0}; }
swith(A) ::= WITH LP args(L) RP. { A = (With){true, L.first}; }
stmt(A) ::= ifs(S). { A = S; }
ifs(A) ::= IF(K) head(C) block(B). { A = ast_if_stmt(b, K, C, B, NULL); }
ifs(A) ::= IF(K) head(C) block(B) ELSE block(E). { A = ast_if_stmt(b, K, C, B, E); }
ifs(A) ::= IF(K) head(C) block(B) ELSE ifs(S). { A = ast_if_stmt(b, K, C, B, ast_else_if(b, S)); }
stmt(A) ::= WHILE(K) head(C) block(B). { A = ast_while(b, K, C, B); }
stmt(A) ::= FOR(K) vars(V) IN range(R) block(B). { A = ast_for(b, K, V, R, B); }
vars(A) ::= ID(N). { A = ast_vars(b, N, NULL); }
vars(A) ::= ID(N) COMMA ID(M). { A = ast_vars(b, N, &M); }
range(A) ::= head(H). { A = (Range){H, NULL}; }
range(A) ::= opx(L) DOTDOT opx(R). { A = (Range){L, R}; }
stmt(A) ::= MATCH(K) head(H) LBRACE arms(L) RBRACE. { A = ast_match(b, K, H, L); }
arms(A) ::= . { A = (ArmList){0}; }
arms(A) ::= arms(L) NL. { A = L; }
arms(A) ::= arms(L) arm(X) sep. { A = arm_push(L, X); }
arms(A) ::= arms(L) error NL. { A = L; }
arm(A) ::= pats(P) guard(G) FATARROW block(B). { A = ast_arm(b, P, G, B, false); }
arm(A) ::= pats(P) guard(G) FATARROW stmt(S). { A = ast_arm(b, P, G, ast_bare_block(b, S), true); }
guard(A) ::= . { A = NULL; }
guard(A) ::= IF opx(C). { A = C; }
pats(A) ::= pat(P). { A = pattern_push((PatternList){0}, P); }
pats(A) ::= pats(L) BAR pat(P). { A = pattern_push(L, P); }
pat(A) ::= cid(P). { A = P; }
pat(A) ::= cid(P) LP idlist(L) RP. { A = ast_pattern_bindings(b, P, L.first); }
cid(A) ::= ID(N). { A = ast_pattern_case(b, NULL, NULL, N); }
cid(A) ::= ID(T) DOT ID(N). { A = ast_pattern_case(b, NULL, &T, N); }
cid(A) ::= ID(M) DOT ID(T) DOT ID(N). { A = ast_pattern_case(b, &M, &T, N); }
pat(A) ::= lit(L). { A = ast_pattern_literal(b, L); }
pat(A) ::= MINUS(O) INT|FLOAT(T). { A = ast_pattern_literal(b, ast_negative(b, O, T)); }
pat(A) ::= str(S). { A = ast_pattern_literal(b, S); }
pat(A) ::= ELSE(K). { A = ast_pattern_else(b, K); }
stmt(A) ::= RETURN(K). { A = ast_jump(b, ST_RETURN, K, NULL); }
stmt(A) ::= RETURN(K) eff(V). { A = ast_jump(b, ST_RETURN, K, V); }
stmt(A) ::= FAIL(K) opx(V). { A = ast_jump(b, ST_FAIL, K, V); }
stmt(A) ::= BREAK(K). { A = ast_jump(b, ST_BREAK, K, NULL); }
stmt(A) ::= CONTINUE(K). { A = ast_jump(b, ST_CONTINUE, K, NULL); }
stmt(A) ::= GIVE(K) eff(V). { A = ast_jump(b, ST_GIVE, K, V); }
stmt(A) ::= TRY(K) block(B) catches(C) fin(F). { A = ast_try(b, K, B, C, F); }
catches(A) ::= . { A = (CatchList){0}; }
catches(A) ::= catches(L) CATCH(K) ID(N) block(B). { A = catch_push(L, ast_catch(b, K, N, NULL, B)); }
catches(A) ::= catches(L) CATCH(K) ID(N) COLON idbar(I) block(B). { A = catch_push(L, ast_catch(b, K, N, I.first, B)); }
catches(A) ::= catches(L) CATCH(K) qid(Q) LP cfields(F) RP block(B). {
    A = catch_push(L, ast_catch_fields(b, K, Q, F.first, B));
}
catches(A) ::= catches(L) CATCH(K) qid(Q) LP cfields(F) COMMA RP block(B). {
    A = catch_push(L, ast_catch_fields(b, K, Q, F.first, B));
}
cfields(A) ::= cfield(F). { A = catch_field_push((CatchFieldList){0}, F); }
cfields(A) ::= cfields(L) COMMA cfield(F). { A = catch_field_push(L, F); }
cfield(A) ::= ID(N). { A = ast_catch_field(b, N); }
cfield(A) ::= name(N) COLON ID(V). { A = ast_catch_field_as(b, N, V); }
idbar(A) ::= qid(Q). { A = catch_name_push((CatchNameList){0}, Q); }
idbar(A) ::= idbar(L) BAR qid(Q). { A = catch_name_push(L, Q); }
fin(A) ::= . { A = NULL; }
fin(A) ::= FINALLY block(B). { A = B; }
stmt(A) ::= WITH(K) call(X) tmo(T) lbl(L) block(B). { A = ast_with(b, K, X, T, L, B); }
tmo(A) ::= . { A = NULL; }
tmo(A) ::= TIMEOUT opx(T). { A = T; }
stmt(A) ::= conc(X). { A = ast_expr_stmt(b, X); }
stmt(A) ::= MOCK(K) qid(Q) LP args(L) RP FATARROW opx(V). { A = ast_mock(b, K, Q, L, V, false); }
stmt(A) ::= MOCK(K) qid(Q) LP args(L) RP FATARROW FAIL opx(V). { A = ast_mock(b, K, Q, L, V, true); }
stmt(A) ::= MOCK(K) qid(Q) LP args(L) RP FATARROW AFTER opx(D) FATARROW opx(V). {
    A = ast_mock_after(ast_mock(b, K, Q, L, V, false), D);
}
stmt(A) ::= MOCK(K) qid(Q) LP args(L) RP FATARROW AFTER opx(D) FATARROW FAIL opx(V). {
    A = ast_mock_after(ast_mock(b, K, Q, L, V, true), D);
}
stmt(A) ::= MOCK(K) qid(Q) LP args(L) RP FATARROW NEVER. { A = ast_mock(b, K, Q, L, NULL, false); }
stmt(A) ::= ASSERT(K) opx(V). { A = ast_jump(b, ST_ASSERT, K, V); }
head(A) ::= opx(X). { A = X; }
head(A) ::= yexpr(X). { A = X; }
eff(A) ::= opx(X). { A = X; }
eff(A) ::= yexpr(X). { A = X; }
eff(A) ::= spawnx(X). { A = X; }
eff(A) ::= conc(X). { A = X; }
conc(A) ::= PARALLEL(K) LBRACE parms(P) RBRACE lbl(L). { A = ast_concurrent(b, EX_PARALLEL, K, P, L); }
conc(A) ::= RACE(K) LBRACE parms(P) RBRACE lbl(L). { A = ast_concurrent(b, EX_RACE, K, P, L); }
conc(A) ::= PARALLEL(K) FOR vars(V) IN range(R) lim(N) block(B) lbl(L). { A = ast_parallel_for(b, K, V, R, N, B, L); }
lbl(A) ::= . { A = (Name){0}; }
lbl(A) ::= AS str(S). { A = ast_label(b, S); }
lim(A) ::= . { A = NULL; }
lim(A) ::= LIMIT opx(X). { A = X; }
parms(A) ::= . { A = (ParallelBodyList){0}; }
parms(A) ::= parms(L) NL. { A = L; }
parms(A) ::= parms(L) pent(P) sep. { A = parallel_body_push(L, P); }
pent(A) ::= name(N) COLON yexpr(X). { A = ast_parallel_body(b, N, X, NULL); }
pent(A) ::= name(N) COLON block(B). { A = ast_parallel_body(b, N, NULL, B); }
yexpr(A) ::= YIELD(K) call(X) pols(P). { A = ast_yield(b, K, X, P); }
call(A) ::= pcall(X). { A = X; }
pols(A) ::= . { A = (PolicyList){0}; }
pols(A) ::= pols(L) pol(P). { A = policy_push(L, P); }
pol(A) ::= RETRY(K) opx(V). { A = ast_policy(b, POL_RETRY, K, V, NULL); }
pol(A) ::= RETRY(K) opx(V) ON idbar(I). { A = ast_retry_on(b, K, V, I.first); }
pol(A) ::= BACKOFF(K) opx(V). { A = ast_policy(b, POL_BACKOFF, K, V, NULL); }
pol(A) ::= TIMEOUT(K) opx(V). { A = ast_policy(b, POL_TIMEOUT, K, V, NULL); }
pol(A) ::= ELSE(K) opx(V). { A = ast_policy(b, POL_ELSE, K, V, NULL); }
pol(A) ::= UNDO(K) block(B). { A = ast_policy(b, POL_UNDO, K, NULL, B); }
pol(A) ::= AS(K) str(S). { A = ast_policy(b, POL_AS, K, S, NULL); }
pol(A) ::= KEY(K) opx(V). { A = ast_policy(b, POL_KEY, K, V, NULL); }
pol(A) ::= APPROVE(K) opx(V). { A = ast_policy(b, POL_APPROVE, K, V, NULL); }

// ---- expressions ----

%type opx {Expr *}
%type path {Expr *}
%type pcall {Expr *}
%type base {Expr *}
%type bcall {Expr *}
%type ifx {Expr *}
%type lit {Expr *}
%type list {Expr *}
%type map {Expr *}
%type ments {MapEntryList}
%type mlist {MapEntryList}
%type ment {MapEntry *}
%type args {ArgList}
%type alist {ArgList}
%type arg {Arg *}
%type str {Expr *}
%type parts {ExprList}

opx(A) ::= opx(L) OR(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= opx(L) AND(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= opx(L) COALESCE(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= opx(L) EQ|NE|LT|LE|GT|GE(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= opx(L) PLUS|MINUS(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= opx(L) STAR|SLASH|PERCENT(O) opx(R). { A = ast_binary(b, L, O, R); }
opx(A) ::= NOT(O) opx(X). { A = ast_unary(b, O, X); }
opx(A) ::= MINUS(O) opx(X). [UMINUS] { A = ast_unary(b, O, X); }
opx(A) ::= path(X). { A = X; }
opx(A) ::= pcall(X). { A = X; }
opx(A) ::= base(X). { A = X; }
opx(A) ::= bcall(X). { A = X; }
path(A) ::= ID(N). { A = ast_name(b, N); }
path(A) ::= path(X) DOT name(N). { A = ast_member(b, X, N); }
path(A) ::= path(X) QDOT name(N). { A = ast_optional_member(b, X, N); }
path(A) ::= path(X) LSQ(O) opx(I) RSQ. { A = ast_index(b, X, O, I); }
path(A) ::= pcall(X) DOT name(N). { A = ast_member(b, X, N); }
path(A) ::= pcall(X) QDOT name(N). { A = ast_optional_member(b, X, N); }
path(A) ::= pcall(X) LSQ(O) opx(I) RSQ. { A = ast_index(b, X, O, I); }
pcall(A) ::= path(X) LP(O) args(L) RP. { A = ast_call(b, X, O, L); }
base(A) ::= LP(O) opx(X) RP. { A = ast_paren(b, O, X); }
base(A) ::= list(X). { A = X; }
base(A) ::= map(X). { A = X; }
base(A) ::= JSON(K) map(X). { A = ast_json(b, K, X); }
base(A) ::= JSON(K) list(X). { A = ast_json(b, K, X); }
base(A) ::= str(X). { A = X; }
base(A) ::= lit(X). { A = X; }
base(A) ::= ifx(X). { A = X; }
ifx(A) ::= IF(K) opx(C) LBRACE opx(L) RBRACE ELSE LBRACE opx(R) RBRACE. { A = ast_if_expr(b, K, C, L, R); }
ifx(A) ::= IF(K) opx(C) LBRACE opx(L) RBRACE ELSE ifx(R). { A = ast_if_expr(b, K, C, L, R); }
base(A) ::= base(X) DOT name(N). { A = ast_member(b, X, N); }
base(A) ::= base(X) QDOT name(N). { A = ast_optional_member(b, X, N); }
base(A) ::= base(X) LSQ(O) opx(I) RSQ. { A = ast_index(b, X, O, I); }
base(A) ::= bcall(X) DOT name(N). { A = ast_member(b, X, N); }
base(A) ::= bcall(X) QDOT name(N). { A = ast_optional_member(b, X, N); }
base(A) ::= bcall(X) LSQ(O) opx(I) RSQ. { A = ast_index(b, X, O, I); }
bcall(A) ::= base(X) LP(O) args(L) RP. { A = ast_call(b, X, O, L); }

name(A) ::= ID(N). { A = ast_word(b, N); }
name(A) ::= IF(N). { A = ast_word(b, N); }
name(A) ::= TRUE(N). { A = ast_word(b, N); }
name(A) ::= FALSE(N). { A = ast_word(b, N); }
name(A) ::= NULL(N). { A = ast_word(b, N); }
name(A) ::= JSON(N). { A = ast_word(b, N); }
name(A) ::= ELSE|WHILE|FOR|IN|MATCH|RETURN|FAIL|BREAK|CONTINUE|TRY|CATCH|FINALLY|WITH(N). { A = ast_word(b, N); }
name(A) ::= LET|VAR|YIELD|SPAWN|GIVE|ASSERT|RACE|PARALLEL|WORKFLOW|FN(N). { A = ast_word(b, N); }

lit(A) ::= INT|FLOAT|DUR(T). { A = ast_literal(b, T); }
lit(A) ::= TRUE(T). { A = ast_literal(b, T); }
lit(A) ::= FALSE(T). { A = ast_literal(b, T); }
lit(A) ::= NULL(T). { A = ast_literal(b, T); }
list(A) ::= LSQ(O) args(L) RSQ. { A = ast_list(b, O, L); }
map(A) ::= LBRACE(O) ments(L) RBRACE. { A = ast_map(b, O, L); }
ments(A) ::= . { A = (MapEntryList){0}; }
ments(A) ::= mlist(L). { A = L; }
ments(A) ::= mlist(L) COMMA. { A = L; }
mlist(A) ::= ment(M). { A = map_entry_push((MapEntryList){0}, M); }
mlist(A) ::= mlist(L) COMMA ment(M). { A = map_entry_push(L, M); }
ment(A) ::= name(N) COLON opx(V). { A = ast_entry_named(b, N, V); }
ment(A) ::= str(S) COLON opx(V). { A = ast_entry_keyed(b, S, V, false); }
ment(A) ::= LSQ opx(K) RSQ COLON opx(V). { A = ast_entry_keyed(b, K, V, true); }
args(A) ::= . { A = (ArgList){0}; }
args(A) ::= alist(L). { A = L; }
args(A) ::= alist(L) COMMA. { A = L; }
alist(A) ::= arg(X). { A = arg_push((ArgList){0}, X); }
alist(A) ::= alist(L) COMMA arg(X). { A = arg_push(L, X); }
arg(A) ::= opx(V). { A = ast_arg(b, (Name){0}, V); }
arg(A) ::= name(N) COLON opx(V). { A = ast_arg(b, N, V); }
arg(A) ::= ID(N) FATARROW opx(V). { A = ast_arg(b, (Name){0}, ast_lambda(b, N, V)); }
arg(A) ::= LP(O) ID(N) COMMA idlist(L) RP FATARROW opx(V). {
    A = ast_arg(b, (Name){0}, ast_lambda_of_two(b, O, N, L.first, V));
}
arg(A) ::= name(M) COLON ID(N) FATARROW opx(V). { A = ast_arg(b, M, ast_lambda(b, N, V)); }
arg(A) ::= name(M) COLON LP(O) ID(N) COMMA idlist(L) RP FATARROW opx(V). {
    A = ast_arg(b, M, ast_lambda_of_two(b, O, N, L.first, V));
}
arg(A) ::= JSON(N) FATARROW opx(V). { A = ast_arg(b, (Name){0}, ast_lambda(b, N, V)); }
str(A) ::= STR_BEG(B) parts(L) STR_END(E). { A = ast_string(b, B, L, E); }
parts(A) ::= . { A = (ExprList){0}; }
parts(A) ::= parts(L) STR_PART(T). { A = expr_push(L, ast_text(b, T)); }
parts(A) ::= parts(L) INTERP_BEG opx(X) INTERP_END. { A = expr_push(L, X); }
parts(A) ::= parts(L) INTERP_BEG PLUS opx(X) INTERP_END. { X->reserved = true; A = expr_push(L, X); }

%code {
// Follows the automaton on a shadow of its stack: `kept` states of the real one are under `shadow`.
static int probe_kind(const yyParser *parser, int kind, bool words_are_names) {
    enum { SHADOW_MAX = 32 };
    YYACTIONTYPE shadow[SHADOW_MAX];
    int kept = (int)(parser->yytos - parser->yystack) + 1, above = 0;
    for (;;) {
        YYACTIONTYPE state = above ? shadow[above - 1] : parser->yystack[kept - 1].stateno;
        YYACTIONTYPE act;
        if (state > YY_MAX_SHIFT) {
            act = state;
        } else if (words_are_names) {
            act = yy_find_shift_action((YYCODETYPE)kind, state);
        } else {
            int at = yy_shift_ofst[state] + kind;
            act = yy_lookahead[at] == kind ? yy_action[at] : yy_default[state];
        }
        if (act < YY_MIN_REDUCE) return act <= YY_MAX_SHIFTREDUCE || act == YY_ACCEPT_ACTION;
        int popped = -yyRuleInfoNRhs[act - YY_MIN_REDUCE];
        int from_shadow = popped < above ? popped : above;
        above -= from_shadow;
        kept -= popped - from_shadow;
        state = above ? shadow[above - 1] : parser->yystack[kept - 1].stateno;
        if (above == SHADOW_MAX) return 0;
        shadow[above++] = yy_find_reduce_action(state, yyRuleInfoLhs[act - YY_MIN_REDUCE]);
    }
}
const int grammar_kind_count = YYNTOKEN;
bool grammar_takes(void *parser, int kind) { return probe_kind(parser, kind, true); }
bool grammar_wants(void *parser, int kind) { return probe_kind(parser, kind, false); }
// The rule a state is bound to reduce by whatever comes, or YY_NO_ACTION when it could do anything else.
static YYACTIONTYPE settled_action(YYACTIONTYPE state) {
    if (state > YY_MAX_SHIFT) return state;
    YYACTIONTYPE only = YY_NO_ACTION;
    for (int kind = 0; kind < YYNTOKEN; kind++) {
        int at = yy_shift_ofst[state] + kind;
        if (yy_lookahead[at] != kind || yy_action[at] == only) continue;
        if (only != YY_NO_ACTION || yy_action[at] < YY_MIN_REDUCE) return YY_NO_ACTION;
        only = yy_action[at];
    }
    return only;
}
void grammar_settle(void *raw) {
    yyParser *parser = raw;
    for (;;) {
        YYACTIONTYPE act = settled_action(parser->yytos->stateno);
        if (act < YY_MIN_REDUCE || act == YY_NO_ACTION) return;
        if (yyRuleInfoNRhs[act - YY_MIN_REDUCE] == 0) return;
        yy_reduce(parser, (unsigned)(act - YY_MIN_REDUCE), YYNOCODE, (Token){0}, parser->b);
    }
}
uint32_t grammar_depth(void *parser) { return (uint32_t)(((yyParser *)parser)->yytos - ((yyParser *)parser)->yystack); }
}
