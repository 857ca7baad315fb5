// An entry of the published package, because a worker thread starts from a file.
import "@patchbay/database/sqlite-reader-thread";
