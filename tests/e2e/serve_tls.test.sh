#!/bin/sh
# tfy serve over TLS: versions, certificates of clients, and certificates that change while it runs.
. "$here/lib.sh"
. "$here/serve_lib.sh"
cat >shop.tfy <<'END'
workflow order(n: int) -> int { return n + 1 }
END
quiet() { "$@" >ssl.log 2>&1 || cat ssl.log; }
ca() # NAME: makes NAME.ca.pem
{
    quiet openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.ca.key" -out "$1.ca.pem" -days 30 -subj "/CN=$1 CA"
}
cert() # NAME CA DAYS EXTENSION: makes NAME.pem and NAME.key
{
    printf '%s\n' "$4" >ext
    quiet openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
    quiet openssl x509 -req -in "$1.csr" -CA "$2.ca.pem" -CAkey "$2.ca.key" -CAcreateserial -out "$1.pem" -days "$3" -extfile ext
}
ca ours
ca others
cert server ours 30 'subjectAltName=DNS:localhost,IP:127.0.0.1'
cert next ours 30 'subjectAltName=DNS:localhost,IP:127.0.0.1'
cert ann ours 30 'subjectAltName=URI:tfy:ann'
cert nobody ours 30 'subjectAltName=URI:other:ann'
cert unknown ours 30 'subjectAltName=URI:tfy:unknown'
cert forged others 30 'subjectAltName=URI:tfy:ann'
cert servers ours 30 "subjectAltName=URI:tfy:ann
extendedKeyUsage=serverAuth"
quiet openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout old.key -out old.csr -subj "/CN=old"
printf 'subjectAltName=URI:tfy:ann\n' >ext
mkdir -p demo && : >demo/index && echo 01 >demo/serial
cat >demo.cnf <<'END'
[ca]
default_ca = d
[d]
new_certs_dir = demo
database = demo/index
serial = demo/serial
policy = p
default_md = sha256
unique_subject = no
[p]
commonName = supplied
END
quiet openssl ca -batch -config demo.cnf -cert ours.ca.pem -keyfile ours.ca.key -in old.csr -out old.pem -extfile ext -startdate 20200101000000Z -enddate 20200201000000Z
cp server.pem live.pem
cp server.key live.key

token=$(tfy token create ann --roles operator)
serves shop.tfy --listen 127.0.0.1:0 --tls-cert live.pem --tls-key live.key --tls-ca ours.ca.pem
base=$(sed -n 's/^tfy serve: serving .* and \(http.*\)$/\1/p' served)
port=${base##*:}
check "it serves https" sh -c 'case "$1" in https://127.0.0.1:*) ;; *) exit 1 ;; esac' sh "$base"
# web PATH OPTIONS…
web()
{
    web_path=$1
    shift
    : >out
    status=$(curl -sS --max-time 20 --cacert ours.ca.pem -o out -D head -w '%{http_code}' "$@" "https://127.0.0.1:$port$web_path" 2>err)
}
by() { by_cert=$1; shift; web "$@" --cert "$by_cert.pem" --key "$by_cert.key"; }
web /healthz
check "whoever trusts its signer trusts it" says 200
web /v1/runs
check "without a certificate one is nobody" says 401
web /v1/me -H "Authorization: Bearer $token"
check "... or has a token" is name ann
by ann /v1/me
check "a certificate names" is name ann
check "... with the roles of the token of that name" is roles '["operator"]'
check "... and says how" is how certificate
by ann /v1/programs/shop/workflows/order/runs -H 'Content-Type: application/json' -d '{"args":{"n":1}}'
check "... and the log has it" says 201 '"by":"ann"'
for bad in nobody forged servers old; do
    by $bad /v1/me
    check "a certificate that does not hold is refused: $bad" says 401 'the certificate does not hold'
    by $bad /healthz
    check "... and is not taken for nobody" says 401
done
by unknown /v1/me
check "a name without roles is refused" says 401 'nobody has given roles'
plain=$(curl -sS --max-time 5 -o out -w '%{http_code}' "http://127.0.0.1:$port/healthz" 2>err)
check "nothing is said in the clear" [ "$plain" = 000 ]
handshake() { echo | timeout 10 openssl s_client -connect "127.0.0.1:$port" "$@" >handshake 2>&1; grep -q '^ *Protocol *: TLS\|New, TLSv1' handshake && ! grep -q 'Cipher is (NONE)' handshake; }
check "TLS 1.3 is spoken" handshake -tls1_3
check "... and 1.2" handshake -tls1_2
check "... and not 1.1" sh -c '! (echo | timeout 10 openssl s_client -connect "127.0.0.1:$1" -tls1_1 -cipher "DEFAULT:@SECLEVEL=0" 2>&1 | grep -q "Cipher is [A-Z]*-")' sh "$port"
web /v1/session -H 'Content-Type: application/json' -d "{\"token\":\"$token\"}"
check "a cookie is for TLS alone" has_header 'set-cookie: __host-tfy_session_[0-9a-f]*=.*; secure'
web /healthz -H "Origin: http://127.0.0.1:$port"
check "... and so are pages" says 403
web /healthz -H "Origin: https://127.0.0.1:$port"
check "... of ours" says 200

# ---- other certificates ----

serial() { echo | timeout 10 openssl s_client -connect "127.0.0.1:$port" 2>/dev/null | openssl x509 -noout -serial; }
before=$(serial)
cp next.pem live.pem
kill -HUP "$server"
tries=0
until grep -q "stays as it was" served || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
check "half a renewal is refused" grep -q 'live.key: it is not the key of the certificate' served
check "... and the old certificate stays" [ "$(serial)" = "$before" ]
cp next.key live.key
kill -HUP "$server"
tries=0
until grep -q "was read again" served || [ $((tries += 1)) -gt 200 ]; do sleep 0.02; done
check "a whole one is taken" [ "$(serial)" = "$(openssl x509 -in next.pem -noout -serial)" ]
web /healthz
check "... and works" says 200
by ann /v1/me
check "... for clients, too" is name ann
cp others.ca.pem live.ca.pem
ends
check "nothing that it prints is a secret" sh -c '! grep -q "BEGIN" served'

# ---- what is refused ----

run tfy serve shop.tfy --tls-cert server.pem
check "a certificate has a key" ended 64 '--tls-cert FILE --tls-key FILE'
run tfy serve shop.tfy --tls-cert server.pem --tls-key ann.key
check "... its own" ended 64 'it is not the key of the certificate'
run tfy serve shop.tfy --tls-cert shop.tfy --tls-key server.key
check "... and is one" ended 64 'shop.tfy: '
run tfy serve shop.tfy --tls-ca ours.ca.pem
check "clients' certificates need TLS" ended 64 'TLS needs a certificate'
