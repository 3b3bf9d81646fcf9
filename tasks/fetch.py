"""The fetch kind: results on the laptop, verified; the product that everything is for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from zuka.stage import Product, Pull, Site, State, Step


@dataclass(frozen=True)
class Fetch(Product):
    """Bring a run's results home, verified by digest, into a folder of their own."""

    paths: tuple[str, ...] = ("outputs",)
    to: str = "artifacts"
    of: str = ""

    def inputs(self, site: Site) -> State:
        return {"paths": json.dumps(self.paths), "of": self.of}

    def shelf(self) -> str:
        return self.to

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        run = site.offers[f"run:{self.of}" if self.of else "run"]
        yield Pull(run, self.paths, f"{self.to}/{site.recipe}/{run}")
