"""Small programs with `super()`, abstract classes, metaclasses and mixins."""

from __future__ import annotations

import abc
from typing import Any

from tests.support.comparing.registering import Programs, x

LOG: list[Any] = []


def state() -> Any:
    """What the programs change besides their arguments."""
    return list(LOG)


def reset() -> None:
    """Put back what the programs change besides their arguments."""
    LOG.clear()


PROGRAMS = Programs(state=state, reset=reset)


# super() ---------------------------------------------------------------------------------------------------------


class Base:
    def __init__(self, x, **rest):
        super().__init__(**rest)
        self.x = x
        self.log = ["Base"]

    def run(self, y):
        self.log.append("Base.run")
        return self.x + y

    @property
    def doubled(self):
        return self.x * 2

    @classmethod
    def named(cls):
        return ["Base", cls.__name__]


class Left(Base):
    def __init__(self, *args, left=1.0, **rest):
        super().__init__(*args, **rest)
        self.left = left

    def run(self, y):
        self.log.append("Left.run")
        return super().run(y) * self.left

    @property
    def doubled(self):
        return super().doubled + 1

    @classmethod
    def named(cls):
        return ["Left", *super().named()]


class Right(Base):
    def __init__(self, *args, right=2.0, **rest):
        super().__init__(*args, **rest)
        self.right = right

    def run(self, y):
        self.log.append("Right.run")
        return super().run(y) - self.right

    @classmethod
    def named(cls):
        return ["Right", *super().named()]


class Diamond(Left, Right):
    def run(self, y):
        return super().run(y) + super(Left, self).run(y)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        object.__setattr__(self, "last", name)


@PROGRAMS.whole()
def super_diamond(x):
    d = Diamond(x, left=3.0, right=4.0)
    return d.run(x), d.doubled, Diamond.named(), d


@PROGRAMS.whole(lambda: (Diamond(x(), left=2.0), x()))
def super_diamond_given(d, y):
    return d.run(y), d.doubled, d.named(), d.last


@PROGRAMS.either()
def super_missing(x):
    class_name = super(Left, Diamond).named
    try:
        super(Base, Diamond(x)).run
    except AttributeError as e:
        return str(e), class_name(), x + 1


class Equal:
    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        if not isinstance(other, Equal):
            return super().__eq__(other)
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __getattribute__(self, name):
        if name == "answer":
            return 42
        return super().__getattribute__(name)


@PROGRAMS.whole()
def super_of_object(x):
    a, b = Equal(1), Equal(1)
    return a == b, a != b, a == 3, a != 3, hash(a) == hash(b), a.answer, x * a.key


class Guarded:
    """Attributes in a dict of its own."""

    def __init__(self, **given):
        object.__setattr__(self, "data", dict(given))

    def __getattr__(self, name):
        if name == "data":
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.data[name] = value

    def __delattr__(self, name):
        del self.data[name]


@PROGRAMS.whole()
def getattr_made(x):
    g = Guarded(a=x, b=2.0)
    g.c = g.a * g.b
    del g.b
    return g.c, hasattr(g, "b"), getattr(g, "missing", 3), g


@PROGRAMS.whole(lambda: (Guarded(a=x(), b=2.0),))
def getattr_given(g):
    g.c = g.a * g.b
    del g.b
    return g.c, hasattr(g, "b")


@PROGRAMS.raising(lambda: (Guarded(a=x(), b=2.0),))
def getattr_refuses(g):
    return g.a + g.missing


# Abstract classes, metaclasses, mixins ---------------------------------------------------------------------------


class Layer(abc.ABC):
    @abc.abstractmethod
    def forward(self, x): ...

    def __call__(self, x):
        return self.forward(x)


class Scale(Layer):
    def __init__(self, by):
        self.by = by

    def forward(self, x):
        return x * self.by


class NamedMixin:
    @property
    def name(self):
        return type(self).__name__.lower()


class Shift(NamedMixin, Layer):
    def __init__(self, by):
        self.by = by

    def forward(self, x):
        return x + self.by


class Registered:
    pass


Layer.register(Registered)


@PROGRAMS.whole()
def abstract_layers(x):
    for layer in (Scale(2.0), Shift(1.0), Scale(x)):
        x = layer(x)
    return x, Shift(1).name


@PROGRAMS.either()
def abstract_isinstance(x):
    return isinstance(Scale(2), Layer), isinstance(Registered(), Layer), isinstance(x, Layer), x + 1


@PROGRAMS.raising()
def abstract_refuses(x):
    return Layer()  # type: ignore[abstract]


class Meta(type):
    default = 4.0

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.counted = len(args)
        return made

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name.upper()

    def __instancecheck__(cls, instance):
        return hasattr(instance, "quack")

    def __len__(cls):
        return 7

    def __contains__(cls, item):
        return item == 1

    def __getitem__(cls, key):
        return key * 2

    def __iter__(cls):
        return iter([1, 2])


class WithMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x


class Duck:
    quack = True


@PROGRAMS.either()
def metaclass_used(x):
    w = WithMeta(x)
    return (
        w,
        WithMeta.default * x,
        WithMeta.other,
        isinstance(Duck(), WithMeta),
        isinstance(w, WithMeta),
    )


@PROGRAMS.either()
def metaclass_operators(x):
    return len(WithMeta), 1 in WithMeta, WithMeta[x], list(WithMeta), bool(WithMeta)


class EqualToAll(type):
    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(int)


class Watching(type):
    def __getattr__(cls, name):
        LOG.append(name)
        return 11

    def __getattribute__(cls, name):
        LOG.append(name)
        return super().__getattribute__(name)


class LikeAll(metaclass=EqualToAll):
    factor = 4

    def half(self):
        return 7


class Watched(metaclass=Watching):
    factor = 3

    def __init__(self, x):
        self.x = x

    @staticmethod
    def double(x):
        return x * 2


@PROGRAMS.either()
def classes_that_equal_all_others(x):
    kinds = isinstance(3, LikeAll), isinstance(x, LikeAll), issubclass(int, LikeAll)
    return kinds, LikeAll().half(), LikeAll.factor * x, LikeAll is int, {LikeAll: 1}[int]


@PROGRAMS.either()
def classes_that_notice_questions(x):
    made = Watched(x + 1)
    return (
        made.x,
        Watched.double(x),
        Watched.factor,
        Watched.other,
        isinstance(x, Watched),
        type(made) is Watched,
    )


class Plugin:
    registry: dict[str, type] = {}

    def __init_subclass__(cls, key=None, **rest):
        super().__init_subclass__(**rest)
        cls.registry[key or cls.__name__] = cls


class AddPlugin(Plugin, key="add"):
    def run(self, x):
        return x + 1


class MulPlugin(Plugin, key="mul"):
    def run(self, x):
        return x * 2


@PROGRAMS.whole()
def init_subclass_registry(x):
    return [Plugin.registry[name]().run(x) for name in ("add", "mul")]


@PROGRAMS.whole()
def new_overridden(x):
    return Single(x) is Single(x), Half(x).x


class Single:
    def __new__(cls, x):
        return INSTANCE

    def __init__(self, x):
        self.extra = 1


class Half:
    def __new__(cls, x):
        made = super().__new__(cls)
        made.x = x / 2
        return made


INSTANCE = Duck()
