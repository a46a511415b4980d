/* The limits of our control group (version 2), which a container or a service has. */
#ifndef SERVER_BASE_CONTROL_GROUP_H
#define SERVER_BASE_CONTROL_GROUP_H

/* The lowest value of a limit in our group and in those above it: bytes for "memory.max", processors for "cpu.max"; INFINITY
 * if there is none. `mount` is where the groups are, "/sys/fs/cgroup", and `membership` is "/proc/self/cgroup". */
double control_group_limit(const char *mount, const char *membership, const char *name);

#endif
