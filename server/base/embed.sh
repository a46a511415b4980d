#!/bin/sh
# Writes assembly that embeds the files given: a table `embedded_files` of (name, first byte, size),
# closed by a null name. The types are in server/base/embedded.h.
set -eu
i=0
echo '    .section .rodata'
for f in "$@"; do
    printf '    .balign 8\nname_%d: .asciz "%s"\n    .balign 8\ndata_%d: .incbin "%s"\nend_%d: .byte 0\n' $i "$f" $i "$f" $i
    i=$((i + 1))
done
printf '    .section .data.rel.ro, "aw"\n    .balign 8\n    .globl embedded_files\nembedded_files:\n'
n=0
while [ $n -lt $i ]; do
    printf '    .quad name_%d, data_%d, end_%d - data_%d\n' $n $n $n $n
    n=$((n + 1))
done
printf '    .quad 0, 0, 0\n    .section .note.GNU-stack, "", %%progbits\n'
