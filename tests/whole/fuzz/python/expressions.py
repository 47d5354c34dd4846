"""The expressions of random programs: ways to each kind of value, one a line."""

from __future__ import annotations

# Numbers stay small: products are reduced, texts and lists cut.
EXPRESSIONS: dict[str, str] = {
    "int": """
        <int> + <int>
        <int> - <int>
        <int> + <int!>
        <int> * <small>
        (<int> * <int>) % 97
        <int> // 3
        <int> // <int!>
        <int> % 5
        -<int>
        ~<int>
        <int> & 7
        <int> | <small>
        <int> ^ <small>
        <small> << 2
        <int> >> 1
        <small> ** 2
        abs(<int>)
        min(<int>, <int>)
        max(<int>, <int>, 2)
        len(<list>)
        len(<str>)
        len(<dict>)
        len(<arr>)
        len(<set>)
        sum(<list>)
        sum(<iter>)
        min(<list>)
        max(<list>, default=-1)
        <list>[0]
        <list>[-1]
        <list>[<small>]
        <list>.count(<int!>)
        <tup>[0]
        <tup>[-1]
        <tup>.count(<int!>)
        <dict>['a']
        <dict>.get('b', <int!>)
        <dict>.get(<str>, 0)
        <deq>[0]
        <deq>[-1]
        <int> if <bool> else <int>
        <int> and <int>
        <int> or <int>
        ($w := <int>)
        note(<int>)
        note(<int>) + note(<int!>)
        <arr>.shape[0]
        <arr>.ndim
        <arr>.size
        int(<arr>.argmax())
        int(<iarr>.sum())
        int(<barr>.sum())
        int(<float>)
        int(<bool>)
        int(str(<int!>))
        round(<float>)
        <bool> + <int!>
        next(<iter>)
        next(<iter>, -1)
        hash(<int!>)
        divmod(<int>, 4)[1]
        <fn>(<int!>)
        <fn>(<int>)
        (lambda $x: <int;$x:int>)(<int!>)
        (lambda $x, $y=<int!>: $x - $y)(<int!>)
        (lambda *$t: len($t))(*<list>)
        functools.reduce(lambda $x, $y: $x + $y, <list>, <int!>)
        functools.reduce(operator.add, <list>, 0)
        functools.partial(<fn>, <int!>)()
        operator.itemgetter(0)(<tup>)
        operator.attrgetter('ndim')(<arr>)
        getattr(<arr>, 'ndim')
        getattr(<int!>, 'missing', <int!>)
        ord(<str!>[0])
        [<int>, <int>][<bool!>]
        {0: <int!>, 1: <int!>}[<int> % 2]
        <alist>[0].shape[0]
        COUNT
        sum($i * 2 for $i in <list>)
        sum(<int;$i:int> for $i in <list> if <bool;$i:int>)
        len([$i for $i in <iter>])
        sum(map(len, (<list>, <str>)))
    """,
    "small": """
        <int> % 4
        len(<list>) % 4
        abs(<int!>) % 3
        int(<bool>)
        <arr>.ndim
    """,
    "float": """
        <float> + <float>
        <float> * <float!>
        <float> - <int!>
        <float> / 4
        <float> / <int!>
        <int> / 2
        <int!> / <int!>
        float(<int>)
        float(<num>)
        -<float>
        abs(<float>)
        round(<float>, 1)
        max(<float>, <int!>)
        <float> if <bool> else <float>
        <float> ** 2
        <float> % 3
        <arr>.item(0)
        math.floor(<float!>) * 1.0
        math.sqrt(abs(<float!>))
        note(<float>)
    """,
    "bool": """
        <int> < <int>
        <int> == <int>
        <int> != <small>
        <int> > 2
        0 <= <int> < <int!>
        <int!> < <int!> <= <int!>
        <float> > <float!>
        <int> in <list>
        <int> not in <set>
        <str> in <dict>
        <str> == <str>
        <str> < <str>
        <list> == <list!>
        <tup> < <tup!>
        <list!> is <list!>
        <arr!> is <arr!>
        <arr!> is not None
        not <bool>
        not <list>
        <bool> and <bool>
        <bool> or <bool>
        <bool> ^ <bool!>
        bool(<list>)
        bool(<num>)
        bool(<dict>)
        <num> > 0
        <num> < <num!>
        <arr>.sum() > <int!>
        <arr>[0] > <float!>
        (<arr> > 0).any()
        (<arr> < <float!>).all()
        <barr>.any()
        np.any(<barr>)
        <arr>.max() == <num!>
        <arr>.dtype == float
        <arr>.shape == <arr!>.shape
        len(<arr>) > 3
        isinstance(<any>, int)
        isinstance(<any>, (str, np.ndarray))
        isinstance(<num>, float)
        callable(<any>)
        hasattr(<any>, 'shape')
        any($i > 2 for $i in <list>)
        all(<bool;$i:int> for $i in <list>)
        any(map(bool, <list>))
        <str>.startswith('a')
        <set> <= <set!>
        <set!>.isdisjoint(<list>)
        (<int> > 1) == <bool!>
        np.array_equal(<arr>, <arr!>)
        np.shares_memory(<arr!>, <arr!>)
        note(<bool>)
    """,
    "str": """
        (<str> + <str>)[:12]
        <str!> * <small>
        str(<int>)
        str(<float!>)
        repr(<list>)[:20]
        repr(<tup>)[:20]
        str(<dict>)[:20]
        str(<arr>.dtype)
        str(<arr!>)
        <str>.upper()
        <str>[::-1]
        <str>[:2]
        <str>[<small>]
        <str>.replace('a', 'b')
        '-'.join(map(str, <list>))
        ','.join(sorted(<dict>))
        ''.join(<str;$s:str> for $s in <dict>)
        'abc'[<small>]
        '%d|%s' % (<int>, <str>)
        '{}:{:>4}'.format(<int>, <str>)
        f"{<int!>}-{<int!>:03d}"
        f"{<float!>:.3f}"
        f"{<num!>!r} {<str!>!s:>5}"
        f"{<arr:old>.shape} {<int!>=}"
        type(<any>).__name__
        <str> if <bool> else <str>
        <str> or 'z'
        note(<str>)
        str(<set>)
        next(iter(<dict>), 'none')
        str(<iarr!>)
    """,
    "list": """
        [<int>, <int>]
        [<int>, <int>, <int>]
        [*<list!>, <int>][:8]
        [<int!>, *<tup!>, *<list!>][:8]
        (<list> + <list>)[:8]
        (<list> * 2)[:6]
        <list>[1:]
        <list>[::-1]
        <list>[:<small>]
        <list>[slice(<small>, None)]
        list(<tup>)
        list(<list>)
        list(<iter>)
        list(range(<small>))
        list(range(<int!>, <int!> + 3))
        list(<deq>)
        list(<dict>.values())
        list(map(<fn>, <list>))
        list(filter(None, <list>))
        list(filter(lambda $x: <bool;$x:int>, <list>))
        list(reversed(<list>))
        list(itertools.islice(<iter>, 4))
        list(itertools.chain(<list>, <tup>))[:8]
        list(itertools.accumulate(<list>))
        list(itertools.takewhile(lambda $x: <bool;$x:int>, <iter>))
        sorted(<list>)
        sorted(<set>)
        sorted(<list>, reverse=True)
        sorted(<list>, key=lambda $x: <int;$x:int>)
        [<int;$i:int> for $i in <list>]
        [<int;$i:int> for $i in <iter>]
        [<int;$i:int> for $i in range(<small>)]
        [$i for $i in <list> if <bool;$i:int>]
        [<int;$i:int;$j:int> for $i in <list> for $j in range(2)][:8]
        [<int;$i:int;$j:int> for $i, $j in zip(<list>, <tup>)]
        [$i + $j for $i, $j in enumerate(<list>)]
        [len($k) + $i for $k, $i in <dict>.items()]
        [ord($c) for $c in <str>]
        [($y := $i) for $i in <list>]
        [sum($r) for $r in [<list>, <tup>]]
        [[$j + $i for $j in <list>][0] for $i in range(2)]
        [(lambda $x: $x + $i)(1) for $i in <list>]
        [$f() for $f in [lambda $y=$i: $y for $i in <list>]]
        <iarr>.tolist()
        <list>.copy()
        <list> if <bool> else <list>
        <list> or [0]
        note(<list>)
        ITEMS
    """,
    "tup": """
        (<int>, <int>)
        (<int>, <int>, <int>)
        (<int>,)
        (*<list!>, <int>)[:6]
        (<tup> + <tup>)[:6]
        <tup>[::-1]
        <tup>[1:]
        tuple(<list>)
        tuple(<iter>)
        tuple(<int;$i:int> for $i in <list>)
        tuple(sorted(<list>))
        divmod(<int>, 3)
        Pair(<int>, <int>)
        Pair(first=<int!>, second=<int!>)
        Pair(<int>, 2)._replace(first=<int!>)
        <arr>.shape
        next(zip(<list>, <tup>))
        next(zip(<list>, <tup>), (0, 0))
        tuple(<dict>.values())
        <tup> if <bool> else <tup>
        note(<tup>)
    """,
    "dict": """
        {'a': <int>, 'b': <int>}
        {'a': <int>, <str>: <int>}
        {**<dict!>, 'c': <int>}
        {'a': 0, **<dict!>}
        dict(a=<int>, c=<int>)
        dict(<dict>)
        dict(zip('abc', <list>))
        <dict> | <dict>
        {$k: <int;$v:int> for $k, $v in <dict>.items()}
        {str($i): $i for $i in <list>}
        {$k: $v for $v, $k in enumerate(<str>)}
        {$k: $v for $k, $v in <dict>.items() if <bool;$k:str;$v:int>}
        <dict>.copy()
        dict.fromkeys('ab', <int>)
        defaultdict(int, <dict>)
        defaultdict(bool, a=<int!>)
        OrderedDict(<dict>)
        OrderedDict([('a', <int>), ('b', <int>)])
        dict(sorted(<dict>.items()))
        <dict> if <bool> else <dict>
        note(<dict>)
        TABLE
    """,
    "adict": """
        {'x': <arr>, 'y': <arr>}
        {'x': <arr>}
        {**<adict!>, 'z': <arr>}
        dict(x=<arr>)
        {$k: <arr;$v:arr> for $k, $v in <adict>.items()}
    """,
    "alist": """
        [<arr>, <arr>]
        [<arr>, <arr>, <arr>]
        [<arr>]
        [<arr;$i:int> for $i in range(<small>)]
        [<arr;$x:arr> for $x in <alist>]
        [<arr> * $i for $i in <list>]
        list(<adict>.values())
        <alist>[::-1]
        list(map(<afn>, <alist>))
        [*<alist!>, <arr>][:4]
    """,
    "set": """
        {<int>, <int>}
        {<int>, <int>, 1}
        set(<list>)
        set(<tup>)
        {<int;$i:int> for $i in <list>}
        {$i % 3 for $i in <iter>}
        <set> | <set>
        <set> & <set>
        <set> - <set>
        <set> ^ <set>
        frozenset(<list>)
        set(map(<fn>, <list>))
        {*<list!>, <int>}
    """,
    "deq": """
        deque(<list>)
        deque(<list>, maxlen=3)
        deque([<int>, <int>])
        deque(<iter>, 4)
    """,
    "iter": """
        iter(<list>)
        (<int;$i:int> for $i in <list>)
        ($i for $i in <list> if <bool;$i:int>)
        (<int;$i:int;$j:int> for $i in <list> for $j in <tup>)
        map(<fn>, <list>)
        map(operator.add, <list>, <tup>)
        map(lambda $x: <int;$x:int>, <iter>)
        filter(lambda $x: <bool;$x:int>, <list>)
        filter(None, <iter>)
        reversed(<list>)
        itertools.chain(<list>, <list>)
        itertools.chain.from_iterable([<list>, <tup>])
        itertools.islice(itertools.count(<int!>), <small>)
        itertools.islice(<iter>, 1, 3)
        itertools.repeat(<int!>, <small>)
        itertools.starmap(operator.sub, zip(<list>, <tup>))
        itertools.accumulate(<list>)
        (note($i) for $i in <list>)
        ($x + $y for $x, $y in zip(<list>, <list>))
        iter(<deq>)
        iter(range(<small>))
        iter(sorted(<set>))
        <genfn>(<int!>)
        <genfn>(<int>)
    """,
    "arr": """
        <arr> + <arr>
        <arr> - <arr>
        <arr> * <arr>
        <arr> / <arr!>
        <arr> + <float>
        <arr> * <float!>
        <float!> - <arr>
        <arr> * <int!>
        <arr> + <int>
        <arr> / <int!>
        <arr> - <num>
        <arr> ** 2
        <arr> % 3
        <arr> // 2
        -<arr>
        abs(<arr>)
        <arr> * <iarr>
        <arr> + <barr>
        <iarr> * 0.5
        <arr>.copy()
        <arr>[:]
        <arr>[::-1]
        <arr>.T
        <arr>.ravel()
        <arr>.reshape(-1)
        <arr>.reshape(<arr!>.shape)
        <arr>.astype(float)
        <arr>.cumsum()
        <arr>.clip(-1, 1)
        <arr>[np.argsort(<arr!>)]
        <arr>[<iarr> % len(<arr!>)]
        <arr> @ np.eye(len(<arr!>))
        np.sin(<arr>)
        np.exp(-<arr>)
        np.sqrt(<arr>)
        np.log(<arr>)
        np.sqrt(np.abs(<arr>))
        np.maximum(<arr>, <arr>)
        np.minimum(<arr>, <float!>)
        np.where(<barr>, <arr>, <arr>)
        np.where(<arr> > 0, <arr>, <float!>)
        np.add(<arr>, <arr!>)
        np.zeros_like(<arr>)
        np.full_like(<arr>, <float!>)
        np.sort(<arr>)
        np.concatenate([<arr>[:1], <arr>[1:]])
        np.stack([<arr>, <arr>]).sum(0)
        np.stack(<alist>).sum(axis=0)
        np.ones(len(<arr>))
        np.array([<float;$i:int> for $i in range(len(<arr!>))])
        np.asarray(<arr>)
        np.nan_to_num(<arr>)
        sum(<alist>, <arr!>)
        functools.reduce(np.add, <alist>)
        functools.reduce(lambda $x, $y: <arr;$x:arr;$y:arr>, <alist>, <arr!>)
        <alist>[0]
        <alist>[-1]
        <adict>['x']
        <adict>.get('y', <arr!>)
        <afn>(<arr>)
        <afn>(<arr!>)
        (lambda $x: <arr;$x:arr>)(<arr!>)
        <arr> if <bool> else <arr>
        <arr> if <num> > <float!> else <arr>
        max(<arr>, <arr!>, key=np.sum)
        watch(<arr>)
        note(<arr>)
        ($w := <arr>)
        <rng:old>.standard_normal(len(<arr!>))
        MEMORY
        np.arange(len(<arr>)) * 1.0
        <arr>.__add__(<arr!>)
        operator.mul(<arr>, <arr!>)
        next(iter(<alist>))
        (<arr> > 0) * 1.0
        <arr>[...]
        <arr>.view()
        <arr>[<barr>].sum() + <arr!>
    """,
    "iarr": """
        np.arange(len(<arr>))
        <iarr> + <int!>
        <iarr> * 2
        <iarr> % 3
        <iarr> - <iarr!>
        <iarr> // 2
        <iarr> & 3
        np.argsort(<arr>)
        np.cumsum(<iarr>)
        np.array([<int!>] * len(<arr!>))
        <barr>.astype(int)
        <iarr>[::-1]
        np.where(<barr>, <iarr>, <int!>)
    """,
    "barr": """
        <arr> > <float!>
        <arr> < <arr>
        <arr> == <arr!>
        ~<barr>
        <barr> & <barr!>
        <barr> | <barr!>
        np.isnan(<arr>)
        np.isfinite(<arr>)
        <iarr> > 1
        np.logical_not(<barr>)
    """,
    "num": """
        <arr>.sum()
        <arr>.mean()
        <arr>.max()
        <arr>.min()
        <arr>[0]
        <arr>[-1]
        <arr>[<small>]
        <arr> @ <arr>
        np.sum(<arr>)
        <num> * 2
        <num> + <float!>
        <num> - <num>
        <num> / <num!>
        <num> + <int!>
        -<num>
        abs(<num>)
        np.float64(<float>)
        np.sqrt(abs(<num>))
        <iarr>[0]
        <iarr>.sum()
        <arr>.std()
        <rng:old>.random()
        np.dot(<arr>, <arr!>)
        float(<num>)
        max(<num>, <num>)
        min(<arr>)
        sum(<arr>)
        <num> if <bool> else <num>
        <arr>.prod()
        np.linalg.norm(<arr>)
        note(<num>)
    """,
    "fn": """
        lambda $x: <int;$x:int>
        lambda $x, $y=<int!>: <int;$x:int;$y:int>
        lambda $x, *$t, **$m: $x + len($t)
        functools.partial(lambda $x, $y: <int;$x:int;$y:int>, <int!>)
        functools.partial(operator.add, <int!>)
        operator.neg
        abs
        (<int!>).__add__
        <fn> if <bool> else <fn>
    """,
    "afn": """
        lambda $x: <arr;$x:arr>
        lambda $x, $y=<float!>: $x * $y
        np.sin
        np.negative
        functools.partial(np.add, <arr!>)
        functools.partial(np.multiply, <float!>)
        np.copy
    """,
    "genfn": """
        lambda $x: iter([$x, <int!>])
        lambda $x: (<int;$x:int;$i:int> for $i in range(2))
    """,
    "manager": """
        contextlib.nullcontext(<int>)
        contextlib.closing(io.StringIO(<str!>))
    """,
    "error": """
        ValueError(<str>)
        Oops(<str>, <int>)
        KeyError(<str!>)
        IndexError(<int>)
        RuntimeError(<str!>, <int!>)
        TypeError('no')
    """,
    "caught": """
        ValueError
        (ValueError, ZeroDivisionError)
        Exception
        Exception
        Oops
        IndexError
        KeyError
        LookupError
        ArithmeticError
        TypeError
        (KeyError, IndexError, TypeError)
    """,
}

LEAVES: dict[str, list[str]] = {
    "int": "0 1 2 3 5 7 -1 -3 10".split(),
    "small": "0 1 2 3".split(),
    "float": "0.5 1.0 -2.0 0.25 3.0 1e3 -0.0".split(),
    "bool": ["True", "False"],
    "str": ["'a'", "'b'", "'xy'", "'a'", "'c'"],
    "list": ["[1, 2, 3]", "[4, 1]", "[2, 0]"],
    "tup": ["(1, 2)", "(3, 4)", "(1, 0)"],
    "dict": ["{'a': 1}", "{'a': 2, 'b': 3}", "{}"],
    "adict": ["{'x': <arr!>}"],
    "alist": ["[<arr!>, <arr!>]"],
    "set": ["{1, 2}", "{0}", "set()"],
    "deq": ["deque([1, 2])"],
    "iter": ["iter([1, 2])", "iter(())"],
    "arr": ["MEMORY", "np.arange(3.0)", "np.ones(3)"],
    "iarr": ["np.arange(len(<arr!>))"],
    "barr": ["<arr!> > 0", "<arr!> != 1"],
    "num": ["np.float64(1.5)", "<arr!>.sum()", "<arr!>[0]"],
    "fn": ["abs", "operator.neg", "(lambda x: x + 1)"],
    "afn": ["np.sin", "(lambda x: x * 2)"],
    "genfn": ["range", "(lambda x: iter([x]))"],
    "manager": ["contextlib.nullcontext(1)"],
    "error": ["ValueError('bad')", "Oops('oops')"],
    "caught": ["Exception", "ValueError"],
    "exc": [],
}
