#include "server/base/process.h"

#include "server/base/control_group.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double count_files(void)
{
    double n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n - 1; /* without the descriptor of the folder itself */
}

/* Field 22 of proc(5)'s stat: the start of the process in clock ticks since boot. Field 2 may contain
 * blanks. */
static double start_time(void)
{
    char text[1024] = "";
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &ticks) != 1)
        return 0;
    struct timespec now, up;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    double booted = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
    return booted + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static double resident(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double limit_of_group(const char *name)
{
    return control_group_limit("/sys/fs/cgroup", "/proc/self/cgroup", name);
}

static double machine_memory(void)
{
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return fmin(bytes, limit_of_group("memory.max"));
}

size_t process_processors(void)
{
    cpu_set_t allowed; /* of up to 1024 processors; with more the call fails */
    bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    double n = known ? CPU_COUNT(&allowed) : (double)sysconf(_SC_NPROCESSORS_ONLN);
    return (size_t)fmax(1.0, fmin(n, ceil(limit_of_group("cpu.max"))));
}

void process_read_statistics(process_statistics *out)
{
    struct rusage usage;
    struct rlimit files = {0};
    *out = (process_statistics){
        .resident_bytes = resident(), .machine_bytes = machine_memory(), .open_files = count_files()};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        out->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->max_files = (double)files.rlim_cur;
    out->started_at = start_time();
}
