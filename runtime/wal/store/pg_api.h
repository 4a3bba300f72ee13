/* pg_api.h: the functions of libpq that the runtime calls, opened when a database is first used.
 *
 * A program that writes to a file neither needs libpq nor grows by it, so nothing links it, and building needs no header of
 * it. The types are declared here as far as they are used; libpq keeps them for its whole major version 5.
 *
 * TFY_PG_API lists each function once: result, name behind "PQ", parameters, the same as arguments, and what it returns when
 * it fails. Tests make a table from it in which each call can be made to fail. */
#ifndef WAL_STORE_PG_API_H
#define WAL_STORE_PG_API_H

#include <stdint.h>

typedef struct TfyPgConn TfyPgConn;     /* PGconn */
typedef struct TfyPgResult TfyPgResult; /* PGresult */

/* PQconninfoOption */
typedef struct TfyPgSetting {
    char *keyword;
    char *envvar, *compiled;
    char *val; /* NULL: the address does not say */
    char *label, *dispchar;
    int dispsize;
} TfyPgSetting;

/* What NOTIFY has said. */
typedef struct TfyPgNotify {
    char *channel;
    int pid;
    char *text;
    struct TfyPgNotify *next;
} TfyPgNotify;

typedef void TfyPgNotice(void *state, const TfyPgResult *notice);

enum { TFY_PG_CONNECTED = 0 }; /* ConnStatusType */

/* ExecStatusType, as far as statements without COPY have it */
enum { TFY_PG_DONE = 1, TFY_PG_ROWS = 2, TFY_PG_SYNC = 10, TFY_PG_SKIPPED = 11 };

/* PGTransactionStatusType */
enum { TFY_PG_IDLE = 0, TFY_PG_IN_TRANSACTION = 2, TFY_PG_IN_FAILED = 3 };

/* Fields of an error or a notice. */
enum { TFY_PG_SEVERITY = 'V', TFY_PG_STATE = 'C', TFY_PG_MESSAGE = 'M', TFY_PG_TABLE = 't' };

#define TFY_PG_API(X)                                                                                                  \
    X(TfyPgConn *, connectdbParams, (const char *const *keywords, const char *const *values, int expand),              \
      (keywords, values, expand), NULL)                                                                                \
    X(void, finish, (TfyPgConn * conn), (conn), )                                                                      \
    X(int, status, (const TfyPgConn *conn), (conn), 1)                                                                 \
    X(char *, errorMessage, (const TfyPgConn *conn), (conn), (char *)"out of memory")                                  \
    X(int, socket, (const TfyPgConn *conn), (conn), -1)                                                                \
    X(int, backendPID, (const TfyPgConn *conn), (conn), 0)                                                             \
    X(int, serverVersion, (const TfyPgConn *conn), (conn), 0)                                                          \
    X(const char *, parameterStatus, (const TfyPgConn *conn, const char *name), (conn, name), NULL)                    \
    X(int, transactionStatus, (const TfyPgConn *conn), (conn), 4)                                                      \
    X(int, setnonblocking, (TfyPgConn * conn, int on), (conn, on), -1)                                                 \
    X(void *, setNoticeReceiver, (TfyPgConn * conn, TfyPgNotice * notice, void *state), (conn, notice, state), NULL)   \
    X(int, enterPipelineMode, (TfyPgConn * conn), (conn), 0)                                                           \
    X(int, exitPipelineMode, (TfyPgConn * conn), (conn), 0)                                                            \
    X(int, pipelineSync, (TfyPgConn * conn), (conn), 0)                                                                \
    X(int, sendPrepare, (TfyPgConn * conn, const char *name, const char *text, int count, const uint32_t *types),      \
      (conn, name, text, count, types), 0)                                                                             \
    X(int, sendQueryPrepared,                                                                                          \
      (TfyPgConn * conn, const char *name, int count, const char *const *values, const int *lengths,                   \
       const int *formats, int binary),                                                                                \
      (conn, name, count, values, lengths, formats, binary), 0)                                                        \
    X(int, sendQueryParams,                                                                                            \
      (TfyPgConn * conn, const char *text, int count, const uint32_t *types, const char *const *values,                \
       const int *lengths, const int *formats, int binary),                                                            \
      (conn, text, count, types, values, lengths, formats, binary), 0)                                                 \
    X(int, flush, (TfyPgConn * conn), (conn), -1)                                                                      \
    X(int, consumeInput, (TfyPgConn * conn), (conn), 0)                                                                \
    X(int, isBusy, (TfyPgConn * conn), (conn), 0)                                                                      \
    X(TfyPgResult *, getResult, (TfyPgConn * conn), (conn), NULL)                                                      \
    X(int, resultStatus, (const TfyPgResult *result), (result), 7)                                                     \
    X(char *, resultErrorField, (const TfyPgResult *result, int field), (result, field), NULL)                         \
    X(char *, cmdStatus, (TfyPgResult * result), (result), (char *)"")                                                 \
    X(char *, cmdTuples, (TfyPgResult * result), (result), (char *)"")                                                 \
    X(int, ntuples, (const TfyPgResult *result), (result), 0)                                                          \
    X(int, nfields, (const TfyPgResult *result), (result), 0)                                                          \
    X(uint32_t, ftype, (const TfyPgResult *result, int column), (result, column), 0)                                   \
    X(char *, getvalue, (const TfyPgResult *result, int row, int column), (result, row, column), (char *)"")           \
    X(int, getlength, (const TfyPgResult *result, int row, int column), (result, row, column), 0)                      \
    X(int, getisnull, (const TfyPgResult *result, int row, int column), (result, row, column), 1)                      \
    X(void, clear, (TfyPgResult * result), (result), )                                                                 \
    X(TfyPgSetting *, conninfoParse, (const char *text, char **error), (text, error), NULL)                            \
    X(void, conninfoFree, (TfyPgSetting * settings), (settings), )                                                     \
    X(TfyPgNotify *, notifies, (TfyPgConn * conn), (conn), NULL)                                                       \
    X(void, freemem, (void *memory), (memory), )

typedef struct TfyPgApi {
#define TFY_PG_MEMBER(result_, name_, parameters_, arguments_, failed_) result_(*name_) parameters_;
    TFY_PG_API(TFY_PG_MEMBER)
#undef TFY_PG_MEMBER
} TfyPgApi;

/* libpq, opened at the first call and never closed. 0; TFY_E_ABSENT: it is not installed, or too old, and error_text
 * (TFY_ERROR_TEXT bytes) names the package. Any thread. */
int tfy__pg_api(const TfyPgApi **api, char *error_text);

/* The same for a library of this name. The caller's table is filled in. */
int tfy__pg_api_open(const char *library, TfyPgApi *api, char *error_text);

#endif
