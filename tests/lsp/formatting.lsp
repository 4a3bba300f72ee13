# Formatting gives the lines that change and no more.
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
open a.tfy <<
// 😀
const A = 1
const   B=2
workflow main() {
  print("x")

  let y = [1,2,
     3]
}
// end
>>
format a.tfy
change a.tfy <<
const A = 1

workflow main() {
    print("x")
}
>>
format a.tfy
change a.tfy 5:2-6:1 ""
format a.tfy
change a.tfy 1:1-5:2 "const A ="
format a.tfy
change a.tfy 1:1-5:2 "\n\n\nconst A = 1\n\n"
format a.tfy
change a.tfy 1:1-9:2 ""
format a.tfy
end
