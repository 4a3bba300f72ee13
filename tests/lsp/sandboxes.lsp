# Sandboxes: what the names of them are, where they are, and what can be written in one.
file walls.tfy <<
const CACHE = "~/.cache/x"
/// Of the other file.
sandbox far { network any }
>>
send {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
read 1
open main.tfy <<
import "walls.tfy" as walls
const HOME = "~/.cargo"

/// For builds.
sandbox builds {
    root readonly
    reads ["${HOME}/bin", walls.CACHE]  // two
    network [
        "crates.io:443",
    ]
}

tool build() -> ExecResult idempotent sandbox builds = exec ["make"]
tool fetch() -> ExecResult once sandbox walls.far = exec ["curl"]
tool look() -> ExecResult pure sandbox readonly = exec ["ls"]

workflow main() {
    yield build()
    yield fetch()
}
>>
hover main.tfy 5:10
hover main.tfy 13:49
definition main.tfy 13:49
hover main.tfy 14:43
hover main.tfy 14:49
definition main.tfy 14:49
hover main.tfy 15:42
hover main.tfy 18:12
hover main.tfy 7:16
definition main.tfy 7:16
definition main.tfy 7:35
references main.tfy 5:10
references main.tfy 2:8
rename main.tfy 5:10 walled
rename main.tfy 2:8 PLACE
symbols main.tfy
tokens main.tfy
# completion
change main.tfy 15:40-15:48 ""
complete main.tfy 15:40
change main.tfy 15:40-15:40 "walls."
complete main.tfy 15:46
change main.tfy 15:40-15:46 "re"
complete main.tfy 15:42
change main.tfy 6:5-6:18 ""
complete main.tfy 6:5
change main.tfy 6:5-6:5 "root "
complete main.tfy 6:10
change main.tfy 6:5-6:10 "network n"
complete main.tfy 6:14
change main.tfy 6:5-6:14 "reads [HO"
complete main.tfy 6:14 HO
change main.tfy 6:5-6:14 ""
complete main.tfy 18:10 bu
send {"jsonrpc": "2.0", "id": 90, "method": "shutdown"}
send {"jsonrpc": "2.0", "method": "exit"}
end
