"""The standard library's own Python code, called in many ways."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs, ignore-errors
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, D101
# ruff: noqa: PLC0415, TD, G

from __future__ import annotations

import _pydecimal
import base64
import calendar
import colorsys
import datetime
import difflib
import email.headerregistry
import email.message
import email.policy
import email.quoprimime
import email.utils
import fnmatch
import fractions
import gettext
import html
import ipaddress
import itertools
import json
import json.decoder
import json.encoder
import json.scanner
import locale
import math
import ntpath
import numbers
import posixpath
import pprint
import quopri
import reprlib
import shlex
import statistics
import string
import sys
import textwrap
import urllib.parse
import uuid
import zipfile

from tests.whole.corpus.case import Corpus
from tests.support.unaccelerated import unaccelerated

CORPUS = Corpus()
add = CORPUS.add
TEXT = (
    "It was the best of times,  it was the worst of times; it was\tthe age of wisdom.\n\nAnd so on."
)
DATA = [3.5, 1.25, 4.0, 1.25, 9.75, 2.5]

datetime_py = unaccelerated(
    "_pydatetime" if sys.version_info >= (3, 12) else "datetime", "_datetime"
)
json_scanner_py = json.scanner.py_make_scanner

# statistics, fractions, numbers ----------------------------------------------------------------------------------

for _function in (
    statistics.mean, statistics.fmean, statistics.median, statistics.median_low, statistics.median_high,
    statistics.median_grouped, statistics.mode, statistics.multimode, statistics.quantiles, statistics.variance,
    statistics.stdev, statistics.pvariance, statistics.pstdev, statistics.harmonic_mean, statistics.geometric_mean,
):  # fmt: skip
    add(_function, list(DATA))
add(statistics.mean, [])
add(statistics.mean, [fractions.Fraction(1, 3), fractions.Fraction(1, 2)])
add(statistics.linear_regression, DATA, [1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
add(statistics.correlation, DATA, [1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
add(statistics.covariance, DATA, DATA)


@CORPUS.case(0.3)
def normal_distribution(p):
    one = statistics.NormalDist(1, 2)
    two = one + statistics.NormalDist(0.5, 1) * 2
    return (
        two.mean,
        two.stdev,
        one.inv_cdf(p),
        one.cdf(0.5),
        one.pdf(1),
        one.overlap(two),
        one == two,
        repr(one),
    )


@CORPUS.case(3, 8)
def fraction_arithmetic(a, b):
    x, y = fractions.Fraction(a, b), fractions.Fraction("0.125")
    values = (
        x + y,
        x - 1,
        x * y,
        x / y,
        x // y,
        x % y,
        -x,
        abs(-x),
        x**2,
        x > y,
        x == 0.375,
        round(x),
        math.floor(x),
    )
    return (
        [str(v) for v in values],
        hash(x) == hash(0.375),
        x.limit_denominator(2),
        f"{x}",
        float(y),
        divmod(x, y),
    )


@CORPUS.case("1/0")
@CORPUS.case("abc")
@CORPUS.case(" -3/9 ")
@CORPUS.case("1e-3")
def fraction_of(text):
    return fractions.Fraction(text)


@CORPUS.case("1.10", "3")
def decimal_arithmetic(a, b):
    x, y = _pydecimal.Decimal(a), _pydecimal.Decimal(b)
    with _pydecimal.localcontext() as context:
        context.prec = 8
        values = (
            x + y,
            x - y,
            x * y,
            x / y,
            x // y,
            x % y,
            -x,
            x.quantize(_pydecimal.Decimal("0.1")),
            x.sqrt(),
            x**2,
        )
    return (
        [str(v) for v in values],
        x < y,
        x.as_tuple().digits,
        y.to_eng_string(),
        f"{x:.3f}",
        int(y),
    )


@CORPUS.case("1", "0")
@CORPUS.case("x", "0")
def decimal_errors(a, b):
    return _pydecimal.Decimal(a) / _pydecimal.Decimal(b)


@CORPUS.case(2.5)
def number_kinds(x):
    return (
        isinstance(x, numbers.Real),
        isinstance(x, numbers.Integral),
        numbers.Complex.__bool__,
        issubclass(bool, numbers.Number),
    )


# Text ------------------------------------------------------------------------------------------------------------

add(textwrap.wrap, TEXT, 20)
add(textwrap.fill, TEXT, width=30, initial_indent="* ", subsequent_indent="  ")
add(textwrap.shorten, TEXT, 25)
add(textwrap.dedent, "  a\n    b\n  c\n")
add(textwrap.indent, "a\n\nb\n", "> ")
add(string.capwords, "the  quick brown fox", None)


@CORPUS.case({"name": "x", "n": 3})
def templates(values):
    one = string.Template("$name has ${n} of $$ and $missing")
    return (
        one.safe_substitute(values),
        one.safe_substitute(values, n=4),
        string.Template("$name").substitute(values),
    )


@CORPUS.case({"name": "x"})
def template_error(values):
    return string.Template("$name $other").substitute(values)


@CORPUS.case({"a": [1, 2], "b": 2.5})
def formatter(values):
    return string.Formatter().format("{0!r:>5} {1:.2f} {a[1]} {}", "p", 1.234, **values) if values.get("z") else (
        string.Formatter().vformat("{a[1]} {b:.3f} {b!r:>{w}}", (), {**values, "w": 8}))  # fmt: skip


add(html.escape, "<a href='x'>&</a>")
add(html.unescape, "&lt;&amp;&#65;&#x42;&notanentity;&euro")
add(fnmatch.filter, ["a.py", "b.txt", "cc.py"], "?.py")
add(fnmatch.translate, "*.[ch]")
add(shlex.split, "a 'b c' \"d $e\" f\\ g # h", comments=True)
add(shlex.quote, "it's")
add(shlex.join, ["a b", "c"])
add(shlex.split, "unclosed 'quote")


@CORPUS.case("x = 1 + 'two' # three\n(a,b)")
def shlex_tokens(text):
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    return list(lexer), lexer.lineno


add(reprlib.repr, [list(range(20)), "x" * 100, {"a": {1, 2, 3}}])
add(
    pprint.pformat,
    {"key": [1, 2, 3], "other": {"nested": ("x" * 30, "y" * 30)}, "z": {3, 1, 2}},
    width=40,
)
add(pprint.pformat, [b"bytes" * 20, "long words " * 10], indent=2, width=30)
add(pprint.isreadable, [1, "a", {}])
add(difflib.get_close_matches, "appel", ["ape", "apple", "peach", "puppy"])
add(quopri.encodestring, b"caf\xc3\xa9 = ok \n")
add(quopri.decodestring, b"caf=C3=A9 =3D ok=\n")
add(email.quoprimime.body_encode, "caf\u00e9=\nab ")
for _function in (
    base64.b16encode,
    base64.b32encode,
    base64.b64encode,
    base64.b85encode,
    base64.a85encode,
):
    add(_function, b"some bytes\x00\xff")
add(base64.b32decode, b"MFRGG===")
add(base64.b85decode, b"VPaz")
add(base64.a85decode, b"<~87cURD]~>", adobe=True)
add(base64.b16decode, b"0g")


@CORPUS.case("a\nb\nc\n", "a\nx\nc\nd\n")
def differences(one, other):
    a, b = one.splitlines(keepends=True), other.splitlines(keepends=True)
    return (
        list(difflib.unified_diff(a, b, "a", "b")), list(difflib.ndiff(a, b)), list(difflib.context_diff(a, b)),
        difflib.SequenceMatcher(None, one, other).ratio(), difflib.SequenceMatcher(None, a, b).get_opcodes(),
    )  # fmt: skip


# json ------------------------------------------------------------------------------------------------------------


def encoded(value, **options):
    encoder = json.encoder.JSONEncoder(**options)
    parts = json.encoder._make_iterencode(
        {}, encoder.default, json.encoder.py_encode_basestring_ascii, encoder.indent, float.__repr__,
        encoder.key_separator, encoder.item_separator, encoder.sort_keys, encoder.skipkeys, False,
    )  # fmt: skip
    return "".join(parts(value, 0))


class PlainDecoder(json.decoder.JSONDecoder):
    def __init__(self):
        super().__init__()
        self.parse_string = json.decoder.py_scanstring
        self.scan_once = json_scanner_py(self)


def decoded(text):
    return PlainDecoder().decode(text)


add(encoded, {"a": [1, 2.5, None, True], "b": {"c": '\u00e9\n"q"'}, 3: []})
add(encoded, [1, {"b": 2, "a": 1}], indent=2, sort_keys=True)
add(encoded, {"bad": object})
add(decoded, '{"a": [1, 2.5e3, null, true], "b": {"c": "\\u00e9\\n"}, "d": ""}')
add(decoded, "[1, 2")
add(decoded, '{"a" 1}')
add(decoded, '"\\ud83d\\ude00 \\q"')
add(json.dumps, {"b": 1, "a": [None]}, indent=1, sort_keys=True)
add(json.loads, '{"a": NaN, "b": -1}', parse_float=str)
add(json.loads, b"\xef\xbb\xbf{}")

# Dates -----------------------------------------------------------------------------------------------------------


@CORPUS.case(2024, 2, 29)
def python_dates(year, month, day):
    d = datetime_py.date(year, month, day)
    later = d + datetime_py.timedelta(days=366, hours=5)
    moment = datetime_py.datetime(year, month, day, 13, 14, 15, 16, tzinfo=datetime_py.timezone.utc)
    return str(d), str(later), d.isocalendar()[:], d.weekday(), moment.isoformat(), str(moment.astimezone(
        datetime_py.timezone(datetime_py.timedelta(hours=-3)))), d.toordinal(), d < later, str(later - d), moment.strftime("%Y-%j"), (
        str(datetime_py.datetime.fromisoformat("2020-01-02T03:04:05")), repr(datetime_py.time(1, 2)))  # fmt: skip


@CORPUS.case(2023, 2, 29)
def python_date_error(year, month, day):
    return datetime_py.date(year, month, day)


@CORPUS.case(datetime.timedelta(days=1, seconds=5), 3)
def python_timedelta(_, n):
    delta = datetime_py.timedelta(days=n, seconds=-5, microseconds=7)
    return str(delta), delta.total_seconds(), str(delta / 2), str(-delta), delta // datetime_py.timedelta(hours=1), str(abs(-delta) % delta), (
        repr(delta * 2), bool(delta), delta > delta / 3)  # fmt: skip


add(calendar.month, 2024, 2)
add(calendar.isleap, 2000)
add(calendar.monthrange, 2023, 11)
add(calendar.monthrange, 2023, 13)
add(calendar.timegm, (2001, 2, 3, 4, 5, 6))


@CORPUS.case(2024, 5)
def calendars(year, month):
    cal = calendar.Calendar(6)
    return cal.monthdayscalendar(year, month), list(cal.itermonthdays2(year, month))[:9], calendar.HTMLCalendar().formatmonth(
        year, month)[:90], calendar.TextCalendar().formatweekheader(3)  # fmt: skip


# Addresses, names, paths -----------------------------------------------------------------------------------------

add(urllib.parse.urlsplit, "https://user:pw@host:80/p/a;t?q=1&r=%20#frag")
add(urllib.parse.urlparse, "//host/path;x?y")
add(urllib.parse.urljoin, "http://a/b/c/d;p?q", "../g?y#s")
add(urllib.parse.quote, "a b/c?\u00e9", safe="/")
add(urllib.parse.unquote, "a%20b%C3%A9%zz")
add(urllib.parse.parse_qs, "a=1&a=2&b=&c=%20", keep_blank_values=True)
add(urllib.parse.urlencode, {"a": [1, 2], "b": "x y"}, doseq=True)
add(urllib.parse.urlsplit, "http://[bad/")
add(posixpath.relpath, "/a/b/c", "/a/d")
add(posixpath.splitext, "dir.x/file.tar.gz")
add(posixpath.commonpath, ["/a/b/c", "/a/b/d"])
add(posixpath.commonpath, ["/a", "b"])
add(posixpath.join, "a", "/b", "c")
add(posixpath.split, "/a/b/")
add(ntpath.join, "C:", "a", r"\b")
add(ntpath.splitdrive, r"\\host\share\dir")
add(ntpath.commonpath, [r"C:\a\b", r"c:\A\c"])
add(ntpath.isabs, r"C:\x")
add(colorsys.rgb_to_hsv, 0.2, 0.4, 0.4)
add(colorsys.hsv_to_rgb, 0.5, 0.5, 0.4)
add(colorsys.rgb_to_hls, 0.2, 0.4, 0.4)
add(colorsys.hls_to_rgb, 0.5, 0.3, 0.3)
add(colorsys.rgb_to_yiq, 0.1, 0.2, 0.3)
add(colorsys.yiq_to_rgb, 0.1, 0.2, 0.3)


@CORPUS.case("12345678-1234-5678-1234-567812345678")
@CORPUS.case("nonsense")
def uuids(text):
    one = uuid.UUID(text)
    two = uuid.UUID(fields=one.fields)
    return (
        str(one),
        two == one,
        one.version,
        one.variant,
        one.hex,
        one.urn,
        int(uuid.UUID(int=5)),
        one > two,
    )


@CORPUS.case("192.168.0.0/22", "192.168.1.7")
@CORPUS.case("2001:db8::/126", "2001:db8::2")
@CORPUS.case("192.168.0.1/22", "1.2.3")
def addresses(network, address):
    net = ipaddress.ip_network(network)
    one = ipaddress.ip_address(address)
    return net.num_addresses, one in net, str(one + 1), str(next(net.subnets())), int(net.broadcast_address), one.is_private, [
        str(host) for host in itertools.islice(net.hosts(), 2)], repr(ipaddress.ip_interface(network)), one.exploded  # fmt: skip


@CORPUS.case("a/b/c.txt")
def zip_names(name):
    info = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
    info.file_size = info.compress_size = info.CRC = 10
    complete = zipfile.CompleteDirs._implied_dirs([name, "a/x", "d/"])
    return info.filename, info.is_dir(), len(info.FileHeader()), list(complete), repr(info)[:30]


@CORPUS.case('Someone <a@b.org>, "X, Y" <x@y.z>')
def email_addresses(text):
    return email.utils.getaddresses([text]), email.utils.parseaddr("One Name <n@m.o>"), email.utils.formataddr(("N", "n@m")), email.utils.parsedate_tz(
        "Mon, 20 Nov 1995 19:12:08 -0500"), email.utils.quote('a"b'), email.utils.unquote('"a"')  # fmt: skip


@CORPUS.case("Caf\u00e9 news")
def email_messages(subject):
    message = email.message.EmailMessage()
    message["Subject"] = subject
    message["To"] = "A B <a@b.c>, d@e.f"
    message.set_content("text \u00e9\n")
    return (
        message["To"].addresses[0].username,
        message.as_string(),
        message.get_content_type(),
        list(message.keys()),
    )


@CORPUS.case("n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2")
@CORPUS.case("n ? 1 :")
def plural_forms(text):
    plural = gettext.c2py(text)
    return [plural(n) for n in (0, 1, 5, 11, 21)]


@CORPUS.case("de_DE.UTF-8@euro")
def locales(name):
    return locale.normalize(name), locale._parse_localename("en_US.UTF-8"), locale.localize("1234.5"), locale.format_string(
        "%d of %.2f", (5, 2.5)), locale.delocalize("1234.5")  # fmt: skip
