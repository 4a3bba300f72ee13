autocmd BufRead,BufNewFile *.tfy setfiletype tfy
