" Colours for .tfy files. A test compares the words with those of the lexer.
if exists('b:current_syntax')
  finish
endif

syntax keyword tfyConstant false null true
syntax keyword tfySuspend detached parallel race spawn with yield
syntax keyword tfyControl assert break catch continue else fail finally for give if in match return try while
syntax keyword tfyDeclare const enum error fn import let mock prompt test tool type var workflow
syntax keyword tfyPolicy after approve as backoff key limit never on retry timeout times tools undo
syntax keyword tfyModifier dangerous exec extern fails http idempotent local mcp once private pure rate sandbox trusted untrusted
syntax keyword tfyTypeWord json task
syntax keyword tfyType bool bytes channel duration float int list map string thread time

syntax match tfyTypeName /\<\u\w*\l\w*\>/
syntax match tfyConstName /\<\u[A-Z0-9_]*\>/
" Words that are names here: behind a dot, and before ':' or '('.
syntax match tfyMember /\.\@1<!\.\zs\h\w*/
syntax match tfyArgument /\<\h\w*\ze:/
syntax match tfyCall /\<\h\w*\ze(/

syntax match tfyNumber /\<\d\+\%(_\d\+\)*\%(\.\d\+\%(_\d\+\)*\)\?\%([eE][+-]\?\d\+\)\?\>/
syntax match tfyNumber /\<0x\x\+\%(_\x\+\)*\>/
syntax match tfyNumber /\<\d\+\%(_\d\+\)*\%(ms\|[smhd]\)\>/
syntax match tfyOperator /->\|=>\|\.\.\|[=!<>]=\|&&\|||\|??\|?\.\|[-+*\/%<>=!?|]/

syntax match tfyEscape /\\\%([ntr"\\$]\|u{\x\{1,6}}\)/ contained
syntax region tfyString start=/"/ end=/"\|$/ contains=tfyEscape,tfyInterpolation
syntax region tfyString start=/"""/ end=/"""/ contains=tfyEscape,tfyInterpolation
syntax region tfyInterpolation matchgroup=tfyDelimiter start=/\${/ end=/}/ contained contains=TOP
syntax region tfyBraces start=/{/ end=/}/ contained containedin=tfyInterpolation contains=TOP
syntax match tfyComment /\/\/.*$/ contains=tfyTodo,@Spell
syntax match tfyComment /\%^#!.*$/
syntax match tfyDoc /\/\/\/\/\@!.*$/ contains=@Spell
syntax keyword tfyTodo TODO FIXME XXX contained
syntax sync minlines=200

highlight default link tfyConstant Constant
highlight default link tfySuspend Statement
highlight default link tfyControl Statement
highlight default link tfyDeclare Keyword
highlight default link tfyPolicy Keyword
highlight default link tfyModifier StorageClass
highlight default link tfyType Type
highlight default link tfyTypeWord Type
highlight default link tfyTypeName Type
highlight default link tfyConstName Constant
highlight default link tfyCall Function
highlight default link tfyMember Identifier
highlight default link tfyArgument Identifier
highlight default link tfyNumber Number
highlight default link tfyOperator Operator
highlight default link tfyEscape SpecialChar
highlight default link tfyString String
highlight default link tfyDelimiter Delimiter
highlight default link tfyComment Comment
highlight default link tfyDoc SpecialComment
highlight default link tfyTodo Todo

let b:current_syntax = 'tfy'
