#include "server/base/control_group.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = PATH_MAX + 8 };

/* Sets the path of our group, "" for the root: the line "0::/PATH". */
static void read_group(const char *membership, char group[LINE_SIZE])
{
    char line[LINE_SIZE];
    FILE *file = fopen(membership, "re");
    *group = '\0';
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0 && line[4] != '\0')
            snprintf(group, LINE_SIZE, "%s", line + 3);
    }
    if (file)
        fclose(file);
}

/* A limit is a number or "max", that of processors two numbers: microseconds in so many microseconds. */
static double read_limit(const char *path)
{
    double limit = INFINITY, amount, period;
    FILE *file = fopen(path, "re");
    if (!file)
        return INFINITY;
    char text[64] = "";
    if (fgets(text, sizeof text, file) && strncmp(text, "max", 3) != 0) {
        int n = sscanf(text, "%lf %lf", &amount, &period);
        limit = n == 2 && period > 0.0 ? amount / period : n == 1 ? amount : INFINITY;
    }
    fclose(file);
    return limit;
}

double control_group_limit(const char *mount, const char *membership, const char *name)
{
    char group[LINE_SIZE], path[2 * LINE_SIZE];
    double least = INFINITY;
    read_group(membership, group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", mount, group, name);
        least = fmin(least, read_limit(path));
        char *last = strrchr(group, '/');
        if (!last)
            return least;
        *last = '\0';
    }
}
