/* follower.h: the work of tfy-publish: reads, delivers, moves the cursor, waits, and does so until it is told to end. */
#ifndef PUBLISH_FOLLOWER_H
#define PUBLISH_FOLLOWER_H

#include "publish/target.h"

/* follow->name is set. Returns an exit status, after a message where it is not EXIT_DONE. */
int tfy__follow(TfyFollow *follow, const TfyTargetKind *kind, bool named);

#endif
