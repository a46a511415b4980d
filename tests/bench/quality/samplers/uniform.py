"""Points by chance; of a finite set without repetition."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from protocol import Sampler, serve  # noqa: E402
from tasks.task import draw_point  # noqa: E402


class Uniform(Sampler):
    def __init__(self, task, seed, options):
        super().__init__()
        self.task, self.draw, self.left = task, random.Random(f"uniform {seed}"), None
        if task["candidates"]:
            self.left = list(range(task["candidates"]))
            self.draw.shuffle(self.left)

    def choose(self, count):
        if self.left is not None:
            return [self.left.pop() for _ in range(min(count, len(self.left)))]
        return [draw_point(self.task["parameters"], self.draw) for _ in range(count)]


if __name__ == "__main__":
    serve(Uniform)
