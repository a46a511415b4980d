#include "tests/support/store_faults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct faulty_file {
    sqlite3_file base;
    struct disk_file *disk; /* NULL: not tracked */
    sqlite3_file *real;     /* behind this struct */
} faulty_file;

static atomic_int fault, countdown, only_once, failed;
static sqlite3_vfs vfs;
static sqlite3_vfs *real_vfs;

void store_faults_set(store_fault kind, int nth, int once)
{
    atomic_store(&fault, STORE_FAULT_NONE);
    atomic_store(&countdown, nth);
    atomic_store(&only_once, once);
    atomic_store(&failed, 0);
    atomic_store(&fault, (int)kind);
}

int store_faults_failed(void)
{
    return atomic_load(&failed);
}

/* Whether this call fails. */
static bool strikes(void)
{
    int left = atomic_fetch_sub(&countdown, 1);
    bool struck = atomic_load(&only_once) ? left == 1 : left <= 1;
    if (struck)
        atomic_fetch_add(&failed, 1);
    return struck;
}

/* ---- what is on the disk when the power goes ----------------------------------------------------------- */

enum { SECTOR = 512 };

/* Done to a file since its last sync. */
typedef struct unsynced {
    struct unsynced *next;
    bool truncates;
    sqlite3_int64 offset; /* or the new size */
    int n;
    unsigned char data[];
} unsynced;

typedef struct disk_file {
    struct disk_file *next;
    char *path;
    bool gone;
    unsigned char *image; /* as synced */
    size_t size, capacity;
    unsynced *first, **last;
} disk_file;

static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static disk_file *disk;
static int power_calls, power_end; /* 0: it stays */
static unsigned power_seed;
static bool tracking;

static unsigned draw(unsigned below)
{
    power_seed = power_seed * 1664525u + 1013904223u;
    return (power_seed >> 8) % below;
}

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void resize(disk_file *f, size_t size)
{
    if (size > f->capacity) {
        f->capacity = 2 * size;
        f->image = must(realloc(f->image, f->capacity));
    }
    if (size > f->size)
        memset(f->image + f->size, 0, size - f->size);
    f->size = size;
}

static void put(disk_file *f, const unsynced *u, int from, int n)
{
    size_t end = (size_t)u->offset + (size_t)from + (size_t)n;
    if (end > f->size)
        resize(f, end);
    memcpy(f->image + u->offset + from, u->data + from, (size_t)n);
}

/* All of it (synced), or what chance leaves. */
static void settle(disk_file *f, bool synced)
{
    for (unsynced *u = f->first, *next; u; u = next) {
        next = u->next;
        unsigned fate = synced ? 0 : draw(3);
        if (u->truncates && fate != 1)
            resize(f, (size_t)u->offset);
        else if (!u->truncates && fate == 0)
            put(f, u, 0, u->n);
        for (int from = 0; !u->truncates && fate == 2 && from < u->n; from += SECTOR)
            if (draw(2))
                put(f, u, from, u->n - from < SECTOR ? u->n - from : SECTOR);
        free(u);
    }
    f->first = NULL;
    f->last = &f->first;
}

/* With the lock held, and never given back. */
static void lose_power(void)
{
    for (disk_file *f = disk; f; f = f->next) {
        char name[4096];
        if (f->gone)
            continue;
        settle(f, false);
        snprintf(name, sizeof name, "%s.lost", f->path);
        FILE *out = must(fopen(name, "w"));
        if ((f->size && fwrite(f->image, 1, f->size, out) != f->size) || fclose(out))
            abort();
    }
    _exit(STORE_POWER_LOST);
}

/* One more call; the last one is not made any more. */
static void count_call(void)
{
    power_calls++;
    if (power_end && power_calls >= power_end)
        lose_power();
}

static void note(disk_file *f, bool truncates, const void *data, int n, sqlite3_int64 offset)
{
    pthread_mutex_lock(&disk_mutex);
    unsynced *u = must(malloc(sizeof *u + (size_t)n));
    *u = (unsynced){.truncates = truncates, .offset = offset, .n = n};
    if (n)
        memcpy(u->data, data, (size_t)n);
    *f->last = u;
    f->last = &u->next;
    count_call();
    pthread_mutex_unlock(&disk_mutex);
}

static void note_sync(disk_file *f)
{
    pthread_mutex_lock(&disk_mutex);
    count_call();
    settle(f, true);
    pthread_mutex_unlock(&disk_mutex);
}

static void load_image(disk_file *f)
{
    FILE *in = fopen(f->path, "r");
    unsigned char block[65536];
    size_t n;
    while (in && (n = fread(block, 1, sizeof block, in)) > 0) {
        size_t at = f->size;
        resize(f, at + n);
        memcpy(f->image + at, block, n);
    }
    if (in)
        fclose(in);
}

static disk_file *track(const char *path)
{
    pthread_mutex_lock(&disk_mutex);
    disk_file *f = disk;
    while (f && strcmp(f->path, path) != 0)
        f = f->next;
    if (!f) {
        f = must(calloc(1, sizeof *f));
        f->path = must(strdup(path));
        f->last = &f->first;
        f->next = disk;
        disk = f;
        load_image(f);
    }
    f->gone = false;
    pthread_mutex_unlock(&disk_mutex);
    return f;
}

void store_faults_cut_power(int nth, unsigned seed)
{
    pthread_mutex_lock(&disk_mutex);
    power_end = power_calls + nth;
    power_seed = seed;
    pthread_mutex_unlock(&disk_mutex);
}

int store_faults_calls(void)
{
    pthread_mutex_lock(&disk_mutex);
    int calls = power_calls;
    pthread_mutex_unlock(&disk_mutex);
    return calls;
}

void store_faults_restore_power(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[4096], lost[4104];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        snprintf(lost, sizeof lost, "%s.lost", name);
        unlink(name);
        rename(lost, name);
    }
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((faulty_file *)file)->real;
}

static int faulty_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int faulty_read(sqlite3_file *file, void *data, int n, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), data, n, offset);
}

static int faulty_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 offset)
{
    sqlite3_file *real = real_of(file);
    int kind = atomic_load(&fault);
    if ((kind == STORE_FAULT_FULL || kind == STORE_FAULT_SHORT || kind == STORE_FAULT_IO) && strikes()) {
        if (kind == STORE_FAULT_SHORT)
            real->pMethods->xWrite(real, data, n / 2, offset);
        return kind == STORE_FAULT_IO ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    if (((faulty_file *)file)->disk)
        note(((faulty_file *)file)->disk, false, data, n, offset);
    return real->pMethods->xWrite(real, data, n, offset);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (atomic_load(&fault) == STORE_FAULT_IO && strikes())
        return SQLITE_IOERR_TRUNCATE;
    if (((faulty_file *)file)->disk)
        note(((faulty_file *)file)->disk, true, NULL, 0, size);
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    int kind = atomic_load(&fault);
    if ((kind == STORE_FAULT_IO || kind == STORE_FAULT_SYNC) && strikes())
        return SQLITE_IOERR_FSYNC;
    if (((faulty_file *)file)->disk) {
        note_sync(((faulty_file *)file)->disk);
        return SQLITE_OK;
    }
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int faulty_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int faulty_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int faulty_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int faulty_check_lock(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int faulty_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int faulty_sector_size(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int faulty_characteristics(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int faulty_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int faulty_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void faulty_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int faulty_shm_unmap(sqlite3_file *file, int delete)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = faulty_close,
    .xRead = faulty_read,
    .xWrite = faulty_write,
    .xTruncate = faulty_truncate,
    .xSync = faulty_sync,
    .xFileSize = faulty_size,
    .xLock = faulty_lock,
    .xUnlock = faulty_unlock,
    .xCheckReservedLock = faulty_check_lock,
    .xFileControl = faulty_control,
    .xSectorSize = faulty_sector_size,
    .xDeviceCharacteristics = faulty_characteristics,
    .xShmMap = faulty_shm_map,
    .xShmLock = faulty_shm_lock,
    .xShmBarrier = faulty_shm_barrier,
    .xShmUnmap = faulty_shm_unmap,
};

static int faulty_open(sqlite3_vfs *self, sqlite3_filename name, sqlite3_file *file, int flags, int *out)
{
    (void)self;
    faulty_file *f = (faulty_file *)file;
    memset(f, 0, sizeof *f);
    f->real = (sqlite3_file *)(f + 1);
    int rc = real_vfs->xOpen(real_vfs, name, f->real, flags, out);
    if (rc == SQLITE_OK)
        f->base.pMethods = &methods;
    if (rc == SQLITE_OK && tracking && name && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        f->disk = track(name);
    return rc;
}

static int faulty_delete(sqlite3_vfs *self, const char *name, int sync_directory)
{
    (void)self;
    pthread_mutex_lock(&disk_mutex);
    for (disk_file *f = disk; f; f = f->next)
        if (strcmp(f->path, name) == 0) {
            settle(f, true);
            f->gone = true;
            f->size = 0;
        }
    pthread_mutex_unlock(&disk_mutex);
    return real_vfs->xDelete(real_vfs, name, sync_directory);
}

void store_faults_install(bool tracks)
{
    tracking = tracks;
    if (real_vfs)
        return;
    sqlite3_initialize();
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "faulty";
    vfs.szOsFile = (int)sizeof(faulty_file) + real_vfs->szOsFile;
    vfs.xOpen = faulty_open;
    vfs.xDelete = faulty_delete;
    sqlite3_vfs_register(&vfs, 1);
}
