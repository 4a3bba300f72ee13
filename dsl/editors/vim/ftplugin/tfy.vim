" Four spaces a level, as 'tfy fmt' writes. :make lists the mistakes.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1
setlocal expandtab shiftwidth=4 softtabstop=4 commentstring=//\ %s comments=:///,:// suffixesadd=.tfy
setlocal makeprg=tfy\ check\ % errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%-G%.%#
let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< commentstring< comments< suffixesadd< makeprg< errorformat<'
