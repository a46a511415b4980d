// Numbers as colours: viridis, whose lightness rises evenly and which colour-blind people can read.
const ANCHORS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

// share: 0 … 1 -> [r, g, b]
export function viridis(share) {
  const at = Math.min(1, Math.max(0, share)) * (ANCHORS.length - 1);
  const i = Math.min(ANCHORS.length - 2, Math.floor(at));
  return ANCHORS[i].map((from, c) => Math.round(from + (ANCHORS[i + 1][c] - from) * (at - i)));
}

export function viridisText(share, opacity = 1) {
  return `rgba(${viridis(share).join(', ')}, ${opacity})`;
}
