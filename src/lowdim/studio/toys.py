"""Classic data sets with sliders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lowdim import data
from lowdim.checks import Array
from lowdim.studio.errors import Refused


@dataclass(frozen=True)
class Slider:
    """A number that the user can choose."""

    name: str
    label: str
    min: float
    max: float
    step: float
    default: float
    log: bool = False


@dataclass(frozen=True)
class ToyData:
    """A generated set: vectors or distances, and columns that describe the objects."""

    X: Array
    labels: dict[str, Array]
    image_shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Toy:
    """A classic set."""

    name: str
    title: str
    about: str
    sliders: tuple[Slider, ...]
    make: Callable[..., ToyData]
    template: str

    def code(self, values: dict[str, Any]) -> str:
        """Python code that makes the set as X."""
        return self.template.format(**self.check(values))

    def public(self) -> dict[str, Any]:
        """The toy as the page gets it."""
        sliders = [vars(slider) for slider in self.sliders]
        return {"name": self.name, "title": self.title, "about": self.about, "sliders": sliders}

    def write(self, values: dict[str, Any], path: Path) -> tuple[int, ...] | None:
        """Write the set to an NPZ file; returns the shape of an image, if its objects are."""
        generated = self.make(**self.check(values))
        with open(path, "wb") as file:
            arrays: dict[str, Any] = {"X": generated.X, **generated.labels}
            np.savez(file, **arrays)
        return generated.image_shape

    def check(self, values: dict[str, Any]) -> dict[str, float]:
        """All values, or a refusal if one is out of range."""
        checked: dict[str, float] = {}
        for slider in self.sliders:
            value = values.get(slider.name, slider.default)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not slider.min <= value <= slider.max:
                raise Refused(
                    f"{slider.label} must be a number between {slider.min:g} and {slider.max:g}."
                )
            whole = float(slider.step).is_integer()
            checked[slider.name] = round(value) if whole else float(value)
        return checked


def _n(default: int, most: int = 20_000) -> Slider:
    return Slider("n", "Points", 20, most, 1, default, log=True)


_SEED = Slider("seed", "Seed", 0, 99, 1, 0)
_DIMENSION = Slider("dimension", "Dimension", 2, 100, 1, 10, log=True)


def _surface(name: str, title: str, about: str, n: int, noise: Slider, label: str) -> Toy:
    """A curve or surface of `lowdim.data`."""

    def make(n: int, noise: float, seed: int) -> ToyData:
        X, t = getattr(data, name)(n, noise=noise, random_state=seed)
        return ToyData(X, {label: t})

    code = f"X, t = lowdim.data.{name}({{n}}, noise={{noise}}, random_state={{seed}})"
    return Toy(name, title, about, (_n(n), noise, _SEED), make, code)


def _noise(most: float, default: float = 0) -> Slider:
    return Slider("noise", "Noise", 0, most, 0.01, default)


def _clusters(n: int, dimension: int, gap: float, ratio: float, seed: int) -> ToyData:
    """Three clusters: the second `gap` from the first, the third far away and `ratio` as wide."""
    random = np.random.RandomState(seed)
    y = np.arange(n) % 3
    centers = np.zeros((3, dimension))
    centers[1, 0], centers[2, :2] = gap, (gap / 2, 5 * gap)
    spread = np.array([1.0, 1.0, ratio])
    X = centers[y] + spread[y, None] * random.standard_normal((n, dimension))
    return ToyData(X, {"cluster": np.array(["near", "near too", "far"])[y]})


def _unequal(n: int, dimension: int, seed: int) -> ToyData:
    X, y = data.clusters(n, n_features=dimension, random_state=seed)
    names = np.array(["half", "quarter, close", "eighth, narrow", "eighth, wide"])
    return ToyData(X, {"cluster": names[y]})


def _gaussian(n: int, dimension: int, seed: int) -> ToyData:
    X = np.random.RandomState(seed).standard_normal((n, dimension))
    return ToyData(X, {"distance from the centre": np.linalg.norm(X, axis=1)})


def _random_walk(n: int, dimension: int, seed: int) -> ToyData:
    steps = np.random.RandomState(seed).standard_normal((n, dimension))
    return ToyData(np.cumsum(steps, axis=0), {"time": np.arange(n, dtype=float)})


def _bars(n: int, size: int, seed: int) -> ToyData:
    X, y = data.bars(n, size=size, length=size // 2, random_state=seed)
    return ToyData(X, {"bar": np.array(["horizontal", "vertical"])[y]}, (size, size))


def _digits(n: int) -> ToyData:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return ToyData(digits.data[:n], {"digit": digits.target[:n].astype(str)}, (8, 8))


def _cities() -> ToyData:
    D, names = data.cities()
    return ToyData(D, {"ids": np.array(names)})


_CLUSTERS = """import numpy as np

random, y = np.random.RandomState({seed}), np.arange({n}) % 3
centers = np.zeros((3, {dimension}))
centers[1, 0], centers[2, :2] = {gap}, ({gap} / 2, 5 * {gap})
spread = np.array([1.0, 1.0, {ratio}])
X = centers[y] + spread[y, None] * random.standard_normal(({n}, {dimension}))"""

TOYS = {
    toy.name: toy
    for toy in (
        Toy(
            "digits", "Handwritten digits", "1,797 images of 8 x 8 pixels.",
            (Slider("n", "Images", 100, 1797, 1, 1797),),
            _digits,
            "from sklearn.datasets import load_digits\n\nX = load_digits().data[:{n}]",
        ),
        Toy(
            "clusters", "Three clusters",
            "Two clusters side by side and a third one far away: which distances and sizes does "
            "the map keep?",
            (_n(300), _DIMENSION, Slider("gap", "Gap", 1, 50, 0.5, 8),
             Slider("ratio", "Width of the far one", 0.1, 10, 0.1, 1, log=True), _SEED),
            _clusters, _CLUSTERS,
        ),
        Toy(
            "unequal", "Unequal clusters",
            "Four clusters of different sizes, spreads and gaps.",
            (_n(600), _DIMENSION, _SEED), _unequal,
            "X, cluster = lowdim.data.clusters({n}, n_features={dimension}, random_state={seed})",
        ),
        Toy(
            "gaussian", "One Gaussian cloud",
            "No structure at all: whatever a map shows is chance.",
            (_n(500), Slider("dimension", "Dimension", 2, 500, 1, 50, log=True), _SEED),
            _gaussian,
            "import numpy as np\n\n"
            "X = np.random.RandomState({seed}).standard_normal(({n}, {dimension}))",
        ),
        _surface(
            "swiss_roll", "Swiss roll", "A strip rolled up in space.",
            1000, _noise(2, 0.1), "position along the roll",
        ),
        _surface(
            "s_curve", "S-curve", "A strip bent into an S.",
            1000, _noise(0.5, 0.02), "position along the S",
        ),
        _surface(
            "trefoil", "Trefoil knot", "A circle that is knotted in space.",
            500, _noise(0.5), "angle",
        ),
        _surface(
            "helix", "Helix on a torus", "A closed coil of eight turns.",
            500, _noise(0.5), "angle",
        ),
        _surface(
            "punctured_sphere", "Sphere without its cap",
            "Dense near the hole, sparse at the pole.", 1000, _noise(0.2), "height",
        ),
        _surface(
            "open_box", "Open box",
            "A cube without its lid: it must be stretched or torn to lie flat.",
            1000, _noise(0.2), "height",
        ),
        Toy(
            "random_walk", "Random walk",
            "Each point is the one before it and a random step.",
            (_n(400), _DIMENSION, _SEED), _random_walk,
            "import numpy as np\n\n"
            "steps = np.random.RandomState({seed}).standard_normal(({n}, {dimension}))\n"
            "X = np.cumsum(steps, axis=0)",
        ),
        Toy(
            "bars", "Bars", "Images of one horizontal or vertical bar.",
            (_n(500, 2000), Slider("size", "Pixels of a side", 8, 40, 1, 20), _SEED),
            _bars,
            "X, bar = lowdim.data.bars({n}, size={size}, length={size} // 2, random_state={seed})",
        ),
        Toy(
            "cities", "Cities",
            "Great-circle distances between 23 cities: objects without vectors.",
            (), _cities, "X, city = lowdim.data.cities()",
        ),
    )
}  # fmt: skip


def find_toy(name: Any) -> Toy:
    """A toy by its name."""
    if not isinstance(name, str) or name not in TOYS:
        raise Refused(f"No classic set is called {name!r}.", 404)
    return TOYS[name]
