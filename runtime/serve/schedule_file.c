/* schedule_file.c: see schedule_file.h. */
#include "serve/schedule_file.h"

#include "tfy.h"

#define COLUMNS "times,paused,done_s,last_s,run,why"

int tfy__schedule_file_get(TfyServeFile *file, TfyScheduleRow *row)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(file->db, "SELECT " COLUMNS " FROM schedule WHERE name=?1", -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, row->name, -1, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        tfy__serve_file_text(stmt, 0, row->times, sizeof row->times);
        row->paused = sqlite3_column_int(stmt, 1);
        row->done_s = sqlite3_column_int64(stmt, 2);
        row->last_s = sqlite3_column_int64(stmt, 3);
        tfy__serve_file_text(stmt, 4, row->run, sizeof row->run);
        tfy__serve_file_text(stmt, 5, row->why, sizeof row->why);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW ? TFY_OK : code == SQLITE_DONE ? TFY_E_ABSENT : TFY_E_IO;
}

int tfy__schedule_file_put(TfyServeFile *file, const TfyScheduleRow *row)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        file->db, "INSERT OR REPLACE INTO schedule(name," COLUMNS ")VALUES(?1,?2,?3,?4,?5,?6,?7)", -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, row->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, row->times, -1, SQLITE_STATIC);
        sqlite3_bind_int(stmt, 3, row->paused);
        sqlite3_bind_int64(stmt, 4, row->done_s);
        sqlite3_bind_int64(stmt, 5, row->last_s);
        sqlite3_bind_text(stmt, 6, row->run, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 7, row->why, -1, SQLITE_STATIC);
        code = sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? TFY_OK : TFY_E_IO;
}
