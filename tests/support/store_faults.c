#include "tests/support/store_faults.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct faulty_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
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
    return real->pMethods->xWrite(real, data, n, offset);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (atomic_load(&fault) == STORE_FAULT_IO && strikes())
        return SQLITE_IOERR_TRUNCATE;
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    int kind = atomic_load(&fault);
    if ((kind == STORE_FAULT_IO || kind == STORE_FAULT_SYNC) && strikes())
        return SQLITE_IOERR_FSYNC;
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
    return rc;
}

void store_faults_install(void)
{
    if (real_vfs)
        return;
    sqlite3_initialize();
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "faulty";
    vfs.szOsFile = (int)sizeof(faulty_file) + real_vfs->szOsFile;
    vfs.xOpen = faulty_open;
    sqlite3_vfs_register(&vfs, 1);
}
