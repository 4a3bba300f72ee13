#!/bin/sh
# save("table", record): rows of the application in the log's own file, there exactly when their step's record is.
. "$here/lib.sh"
rows() { sqlite3 "${db:-.tfy/runs.db}" "$1"; }

cat >shop.tfy <<'END'
type Line { item: string, count: int }
type Order {
    id: string
    total: float
    paid: bool
    placed: time
    took: duration
    order: string?
    level: int?
    lines: list<Line>
}

workflow main(n: int = 3) -> int {
    for i in 0..n {
        let placed = yield now()
        var note: string? = null
        if i == 1 { note = "it's \"x\"" }
        let lines = [Line(item: "nail", count: i)]
        let order = Order(id: "o${i}", total: 2.5, paid: i == 1, placed: placed, took: 2s, order: note, level: null, lines: lines)
        yield save("orders", order)
    }
    print("saved")
    return n
}
END
run tfy run shop.tfy
check "rows are saved" ended 0
check "with their types" [ "$(rows "select tfy_task, tfy_step, id, typeof(total), paid, typeof(placed), took from orders where id='o1'")" = \
    '1|4|o1|real|1|integer|2000' ]
check "whatever stands in them" [ "$(rows "select \"order\", level is null, lines from orders where id='o1'")" = \
    'it'"'"'s "x"|1|[{"item":"nail","count":1}]' ]
check "one for each step" [ "$(rows "select count(distinct tfy_step), count(distinct tfy_run) from orders")" = "3|1" ]
check "by the run's id" [ "$(rows "select count(*) from run where lower(hex(uuid))=(select replace(tfy_run,'-','') from orders)")" = 1 ]
check "the history tells it" [ "$(rows "select count(*) from history where what='orders'")" = 3 ]
run tfy replay last
check "a replay" ended 0
check "writes none" [ "$(rows 'select count(*) from orders')" = 3 ]
run tfy fork last --at 4
run tfy resume last
check "a fork writes only its own steps' rows" [ "$(rows 'select count(*) from orders group by tfy_run order by 1' | xargs)" = "1 3" ]
run tfy verify
check "the database is whole" ended 0

# Another database gets the rows with their run.
printed_rows() { sqlite3 -readonly "$1" "select * from orders where tfy_run='$(basename there/*.run .run)' order by tfy_task, tfy_step"; }
run tfy wal export 1 -o there
run tfy wal import there/*.run --db there.db
check "an import brings the rows" ended 0 ", 3 saved rows"
check "... as they were" [ "$(printed_rows there.db)" = "$(printed_rows .tfy/runs.db)" ]
check "... in a table of the same shape" [ "$(sqlite3 there.db "select sql from sqlite_schema where name='orders'")" = "$(rows "select sql from sqlite_schema where name='orders'")" ]
run tfy verify --db there.db
check "... of a sound database" ended 0
run tfy wal export last -o copied
check "a fork's rows are its own steps'" [ "$(wc -l <"$(ls copied/*.saved)")" = 2 ]
saved=$(basename there/*.saved)
# refused NAME TEXT: the rows in ./bad are not taken, however well their sum fits, and nothing is written.
refused()
{
    sed -i "s/\"saved\": \"[0-9a-f]*\"/\"saved\": \"$(python3 "$here/read_log.py" --sum "bad/$saved")\"/" bad/*.run
    run tfy wal import bad/*.run --db none.db
    check "$1" ended 65 "$2"
    check "... no database is made" [ ! -e none.db ]
    rm -rf bad
    cp -r there bad
}
cp -r there bad
sed -i 's/"o1"/"o9"/' "bad/$saved"
run tfy wal import bad/*.run --db none.db
check "rows that were changed are refused" ended 65 "$saved: it was changed since it was written; nothing was imported"
sed -i '$d' "bad/$saved" && truncate -s -3 "bad/$saved" && refused "a file that was cut off" "line 3 is not as it was written"
sed -i '2p' "bad/$saved" && refused "a row twice" "saved no such row in table orders"
sed -i 's/"step":2/"step":3/' "bad/$saved" && refused "a row of no step" "step 3 of task 1 saved no such row"
sed -i 's/"task":"1"/"task":"1.1"/' "bad/$saved" && refused "a row of no task" "of task 1.1 saved no such row"
sed -i '1s/"orders"/"goods"/' "bad/$saved" && refused "rows of another table" "saved no such row in table goods"
sed -i '1s/"orders"/"wal\\"; --"/' "bad/$saved" && refused "a name that is none" "save does not give a table the name"
sed -i '1s/\["id","TEXT"\]/["id","TEXT PRIMARY KEY"]/' "bad/$saved" && refused "a column of another kind" "which save did not make"
sed -i '1s/\["level","INT"\]/["ID","INT"]/' "bad/$saved" && refused "a column twice" "a column ID INT, which"
sed -i '2s/"o0",//' "bad/$saved" && refused "a row that is too short" "line 2 is not as it was written"
sed -i 1d "bad/$saved" && refused "rows of no table" "line 1 is not as it was written"
rm "bad/$saved"
run tfy wal import bad/*.run --db none.db
check "rows that are missing: 69" ended 69 "cannot be read"

# Killed everywhere: no row without its record, no record without its row, none twice.
lost=0
for at in before:1 before:2 after:1 after:2 point:1 point:2; do
    db=k.$at
    TFY_TEST_KILL=$at TFY_TEST_INLINE=1 tfy run shop.tfy --db "$db" >/dev/null 2>&1
    records=$(rows "select count(*) from wal where payload like '{\"save\"%'" 2>/dev/null || echo 0)
    [ "$(rows 'select count(*) from orders' 2>/dev/null || echo 0)" = "$records" ] || lost=1
    tfy resume last --db "$db" >/dev/null 2>&1 || tfy run shop.tfy --db "$db" >/dev/null 2>&1
    [ "$(rows 'select count(*) from orders')" = 3 ] || lost=1
done
db=
check "whatever dies, rows and records agree" [ "$lost" = 0 ]

# The record changes its shape.
sed -e 's/^    took: duration$/    tax: float/' -e 's/took: 2s/tax: 0.5/' shop.tfy >wider.tfy
run tfy run wider.tfy
check "a new field is a new column" [ "$(rows "select tax, took is null from orders where tax is not null limit 1")" = "0.5|1" ]
run tfy run shop.tfy
check "and the old program goes on" ended 0
sed -e 's/^    paid: bool$/    paid: string/' -e 's/paid: i == 1/paid: "yes"/' shop.tfy >other.tfy
before=$(rows 'select count(*) from orders')
run tfy run other.tfy
check "a field of another type is refused" ended 65 "table orders holds paid as BOOL INT, and the program now saves it as TEXT"
check "and no row is written" [ "$(rows 'select count(*) from orders')" = "$before" ]
tfy run other.tfy --db else.db >out 2>err
run tfy wal import there/*.run --db else.db
check "nor is one imported into a table of another shape" ended 65 "hold paid as BOOL INT, and table orders of else.db has it as TEXT"
check "... nor its run" [ "$(sqlite3 else.db 'select count(*) from run')|$(sqlite3 else.db 'select count(*) from orders')" = "1|3" ]
run tfy verify --db else.db
check "... and the database is whole" ended 0
accepted=
for name in $(sqlite3 else.db "select name from sqlite_schema where name not in ('orders') and name not like 'sqlite_%'"); do
    printf 'type Row { id: string }\nworkflow main() { yield save("%s", Row(id: "x")) }\n' "$name" >taken.tfy
    ! tfy check taken.tfy 2>/dev/null || accepted="$accepted $name"
done
check "no name of the log's own schema is taken for a table" [ -z "$accepted" ]
rows 'create index orders_by_id on orders(id)'
run tfy ps
check "a plain index may stand there" ended 0
rows "create table \"other\"(a, b)"
run tfy ps
check "tables of others may not" ended 65
rows 'drop table other'
rows "create trigger t after insert on orders begin delete from orders; end"
run tfy ps
check "nor triggers" ended 65
