"""The statements of random programs; the first lines of each say what it assigns and where it may stand (grammar.py)."""

from __future__ import annotations

ASSIGNED = {
    "int": 5, "float": 2, "bool": 1, "str": 1.5, "list": 2.5, "tup": 1.2, "dict": 1.5, "adict": 1, "alist": 1.2, "set": 0.8,
    "deq": 0.5, "iter": 0.7, "arr": 7, "iarr": 1, "barr": 0.8, "num": 2, "fn": 1, "afn": 1, "genfn": 0.3,
}  # fmt: skip

SIMPLE = """
@ 1.5
print(<any>)

print(<any>, <any>, sep='|')

print(<str>, end=';')

@ 2
LOG.append(<any>)

note(<any>)

@ 2
<arr:own> += <arr>

<arr:own> -= <float>

<arr:own> *= <float!>

@ 0.5
<arr:own> /= <arr!>

<arr:old>[0] = <float>

<arr:old>[1:] = <float>

<arr:old>[:] = <arr>

<arr:old>[:-1] += <arr!>[1:]

<arr:old>[<barr>] = <float!>

<arr:old>[<small>] += <float!>

np.add(<arr>, <arr!>, out=<arr:old>)

@ 0.4
<arr:old>.sort()

@ 0.4
<arr:old>.fill(<float!>)

<iarr:own> += <int!>

@ 2
<int:own> += <int>

<int:own> -= <int!>

<int:own> //= 2

<float:own> *= 0.5

<str:own> = (<str:own> + <str!>)[:10]

<num:own> += <num!>

@ 2
@ old $l:list
if len($l) < 9:
    $l.append(<int>)

@ 0.5
@ old $l:list
if len($l) < 9:
    $l.extend([<int>, <int!>])

@ 0.5
@ old $l:list
if len($l) < 9:
    $l.insert(0, <int>)

@ 0.5
@ $v:int
$v = <list:old>.pop()

@ 0.4
<list:old>.sort()

@ 0.4
<list:old>.reverse()

@ 0.4
<list:old>.remove(<int!>)

@ 0.5
del <list:old>[0]

<list:old>[0] = <int>

<list:old>[-1] += <int!>

@ 0.4
<list:old>[:2] = [<int>, <int>]

@ 0.2
<list:old>.clear()

@ 0.5
@ own $l:list
if len($l) < 9:
    $l += [<int>]

@ 1.5
<dict:old>[<str>] = <int>

<dict:old>['a'] += <int!>

@ 0.6
<dict:old>.update(<dict>)

@ 0.4
<dict:old>.update(k=<int>)

@ 0.6
@ $v:int
$v = <dict:old>.setdefault(<str>, <int>)

@ 0.4
@ $v:int
$v = <dict:old>.pop(<str>, <int!>)

@ 0.4
del <dict:old>['a']

@ 0.4
<dict:own> |= <dict>

@ 0.7
<adict:old>['x'] = <arr>

@ 0.7
<adict:old>['x'] += <arr!>

@ 0.7
<alist:old>[0] = <arr>

@ 0.7
<alist:old>[0] *= <float!>

@ 0.5
@ old $l:alist
if len($l) < 9:
    $l.append(<arr>)

@ 0.5
<set:old>.add(<int>)

@ 0.3
<set:old>.discard(<int!>)

@ 0.3
<set:own> |= {<int!>}

@ 0.5
@ old $l:deq
if len($l) < 9:
    $l.append(<int>)

@ 0.4
@ old $l:deq
if len($l) < 9:
    $l.appendleft(<int>)

@ 0.4
@ $v:int
$v = <deq:old>.popleft()

@ 0.3
<deq:old>.rotate(1)

@ $v:int
@ $w:int
$v, $w = <int>, <int>

@ 0.8
@ own $v:int
@ own $w:int
$v, $w = $w, $v

@ 0.6
@ $v:arr
@ $w:arr
$v, $w = <arr>, <arr>

@ 0.5
@ $v:int
@ $w:int
$v, $w = <tup>

@ 0.6
@ $v:int
@ $r:list
$v, *$r = <list>

@ 0.5
@ $v:int
@ $r:list
*$r, $v = <tup>

@ 0.4
@ $v:int
@ $w:int
@ $x:float
($v, $w), $x = (<int>, <int>), <float>

@ 0.5
@ $v:num
@ $r:list
$v, *$r = <arr>

@ 0.5
@ $v:int
@ $w:int
$v = $w = <int>

@ 0.5
@ $v:list
@ $w:list
$v = $w = <list>

@ 0.4
@ $v:int
$v: int = <int>

@ 0.5
@ del $v:int
del $v

@ 0.4
@ del $v:arr
del $v

@ 0.3
@ del $v:list
del $v

@ 0.4
assert <bool>, <str>

@ 0.6
assert <bool> or True, <str>

@ 0.5
pass

@ 0.6
TABLE['a'] = <int>

@ 0.6
MEMORY[0] = <float>

@ 0.5
if len(ITEMS) < 9:
    ITEMS.append(<int>)

@ 0.4
<int>

@ 0.4
warnings.warn(<str>)

@ 0.3
warnings.warn(<str>, RuntimeWarning, stacklevel=2)

@ 0.3
raise <error>

@ 0.3
@ needs risky
raise <error> from None

@ 0.3
@ needs risky
<list>[99]

@ 0.3
@ needs risky
<int> // (<int!> - <int!>)

@ 0.3
@ needs risky
<arr> + np.ones(7)

@ 0.3
@ needs risky
<dict>['nothing']

@ 0.3
@ needs risky
<int!> + <str!>

@ 0.3
@ needs risky
<any>.missing

@ 1
@ needs handler
raise

@ 1
@ needs handler
raise <error>

@ 1
@ needs handler
raise <error> from <exc:old>

@ 1
@ needs handler
LOG.append((type(<exc:old>).__name__, str(<exc:old>)))

@ 0.6
@ needs handler
LOG.append(repr(<exc:old>.__context__))

@ 0.4
@ needs handler
LOG.append(<exc:old>.__traceback__.tb_lineno)

@ 0.4
@ needs handler
LOG.append(repr(sys.exc_info()[1]))

@ 0.4
@ needs handler
<exc:old>.add_note(<str>)

@ 0.5
@ needs loop
break

@ 0.5
@ needs loop
continue

@ 0.15
@ needs function
return <RETURN>

@ 6
@ needs generator
yield <int>

@ 2
@ needs generator
yield from <iter>

@ 2
@ $v:int
@ needs generator
$v = (yield <int>) or <int!>

@ 0.3
@ $f:fn
exec("def f(x):\\n    return x * 2 + 1", $n := {})
$f = $n['f']

@ 0.3
@ $f:afn
exec("def f(x):\\n    y = x + 1\\n    return y * x", $n := {})
$f = $n['f']

@ 0.3
@ $v:int
$v = eval('<int!> + 1')

@ 0.3
@ $v:fn
import operator as op
$v = op.neg
"""

COMPOUND = """
@ 3
if <bool>:
    <block>

@ 2
if <bool>:
    <block>
else:
    <block>

@ 1.5
if <bool>:
    <block>
elif <bool>:
    <block>
else:
    <block>

@ 2
@ $v:arr
if <bool>:
    $v = <arr>
else:
    $v = <arr>

@ 1
@ $v:int
if <bool>:
    $v = <int>
else:
    $v = <int>

if <arr>.sum() > <float!>:
    <block>
else:
    <block>

if ($y := <int>) > 1:
    <block;$y:int>

@ 0.6
@ needs loop
if <bool>:
    break

@ 0.6
@ needs loop
if <bool>:
    continue

@ 0.8
@ needs function
if <bool>:
    return <RETURN>

@ 0.5
if <bool>:
    raise <error>

@ 2
for $i in range(<small>):
    <loop;$i:int>

for $i in range(4, 0, -2):
    <loop;$i:int>
else:
    <block>

@ 2
for $i in <list>:
    <loop;$i:int>

for $i in <list>:
    <loop;$i:int>
else:
    <block;$i:int>

for $i in <tup>:
    <loop;$i:int>

for $i in <iter>:
    <loop;$i:int>

for $k in <dict>:
    <loop;$k:str>

for $k, $v in <dict>.items():
    <loop;$k:str;$v:int>

@ 0.5
for $v in <dict>.values():
    <loop;$v:int>

for $i, $v in enumerate(<list>):
    <loop;$i:int;$v:int>

for $i, $v in zip(<list>, <iter>):
    <loop;$i:int;$v:int>

for $i, ($v, $x) in enumerate(zip(<list>, <alist>)):
    <loop;$i:int;$v:int;$x:arr>

@ 0.5
for $v in reversed(<list>):
    <loop;$v:int>

@ 0.5
for $v in map(<fn>, <list>):
    <loop;$v:int>

@ 0.5
for $v in filter(lambda $y: <bool;$y:int>, <list>):
    <loop;$v:int>

@ 0.5
for $s in <str>:
    <loop;$s:str>

for $x in <alist>:
    <loop;$x:arr>

@ 0.7
for $x in <arr>:
    <loop;$x:num>

@ 0.7
for $x in (<arr>, <arr>):
    <loop;$x:arr>

@ 0.5
for $k, $x in <adict>.items():
    <loop;$k:str;$x:arr>

@ 0.5
for $v in sorted(<set>):
    <loop;$v:int>

@ 0.5
@ old $l:list
for $v in $l:
    if len($l) < 7:
        $l.append($v)
    <loop;$v:int>

@ 0.3
@ old $l:list
for $v in $l:
    $l.remove($v)
    <loop;$v:int>

@ 0.3
@ old $d:dict
for $k in $d:
    $d[$k + 'q'] = 1
    <loop;$k:str>

@ 0.3
@ old $a:alist
for $i, $a[0] in enumerate([<arr>, <arr>]):
    <loop;$i:int>

@ 1.5
$c = 0
while $c < <small>:
    $c += 1
    <loop;$c:int>

$c = 3
while $c:
    $c -= 1
    <loop;$c:int>
else:
    <block;$c:int>

$c = 0
while True:
    $c += 1
    if $c > 3 or <bool>:
        break
    <loop;$c:int>

@ 0.7
$c = 0
while <num> < <float!> and $c < 3:
    $c += 1
    <loop;$c:int>

@ 0.5
while ITEMS:
    $v = ITEMS.pop()
    if $v > 2:
        break

@ 2.5
try:
    <risky>
except <caught> as $e:
    <handler;$e:exc>

try:
    <risky>
except <caught>:
    <handler>

try:
    <risky>
except <caught> as $e:
    <handler;$e:exc>
else:
    <block>
finally:
    <block>

try:
    <risky>
finally:
    <block>

try:
    <risky>
except ValueError:
    <handler>
except <caught> as $e:
    <handler;$e:exc>

@ 0.7
try:
    <risky>
except:
    <handler>

@ 0.6
try:
    raise <error>
except <caught> as $e:
    <handler;$e:exc>

@ 0.6
try:
    try:
        <risky>
    finally:
        <risky>
except <caught> as $e:
    <handler;$e:exc>

@ 0.5
try:
    <risky>
except* ValueError as $e:
    LOG.append(len($e.exceptions))
except* (KeyError, TypeError):
    <block>

@ 0.4
try:
    raise ExceptionGroup('g', [<error>, <error>])
except* Oops:
    <block>
except* Exception as $e:
    LOG.append(repr($e.exceptions))

@ 0.4
try:
    <risky>
except <caught> as $e:
    $s = $e
    <handler;$e:exc>
else:
    $s = None
LOG.append(repr($s))

@ 1
with <manager> as $m:
    <risky>

@ 0.5
with <manager>, <manager> as $m:
    <risky>

@ 0.4
with (<manager> as $m, <manager> as $n):
    <block>

with contextlib.suppress(<caught>):
    <risky>

@ 0.5
with contextlib.ExitStack() as $t:
    $t.callback(note, <int>)
    $t.enter_context(<manager>)
    <risky>

@ 0.7
with np.errstate(all='ignore'):
    <block>

@ 0.5
with np.errstate(divide='raise', invalid='raise'):
    <risky>

@ 0.5
with warnings.catch_warnings(record=True) as $c:
    warnings.simplefilter('always')
    <block>
LOG.append([str($w.message) for $w in $c])

@ 0.4
with warnings.catch_warnings():
    warnings.simplefilter('error')
    <risky>

@ 0.7
match <tup>:
    case ($v, $w):
        <block;$v:int;$w:int>
    case ($v, *$r) if <bool;$v:int>:
        <block;$v:int;$r:list>
    case _:
        <block>

@ 0.6
match <list>:
    case []:
        <block>
    case [$v]:
        <block;$v:int>
    case [1 | 2, $v, *_]:
        <block;$v:int>
    case [$v, *$r]:
        <block;$v:int;$r:list>

@ 0.6
match <dict>:
    case {'a': 1}:
        <block>
    case {'a': $v, **$r}:
        <block;$v:int;$r:dict>
    case $o:
        <block;$o:dict>

@ 0.6
match <any>:
    case int() | str():
        <block>
    case float($v):
        <block;$v:float>
    case np.ndarray(ndim=1) as $v:
        <block>
    case {'b': $v}:
        <block>
    case None:
        pass

@ 0.5
match Point(<int>, <int>):
    case Point(x=1):
        <block>
    case Point($v, $w) if $v > $w:
        <block;$v:int;$w:int>
    case Point(x=$v):
        <block;$v:int>

@ 0.5
match <int>:
    case 0 | 1:
        <block>
    case $v if $v < 0:
        <block;$v:int>
    case 2:
        <block>

@ 1.5
@ $f:fn
def $f($x):
    <intbody;$x:int>

@ 0.7
@ $f:fn
def $f($x, $y=<int>, *, $k=<int!>):
    <intbody;$x:int;$y:int;$k:int>

@ 0.4
@ $f:fn
def $f($x, *$t, **$m):
    <intbody;$x:int;$t:tup;$m:dict>

@ 1.3
@ $f:afn
def $f($x):
    <arrbody;$x:arr>

@ 0.5
@ $f:afn
def $f($x, $y=<arr!>):
    <arrbody;$x:arr;$y:arr>

@ 1
@ $g:genfn
def $g($x):
    <genbody;$x:int>

@ 0.5
@ $f:fn
@functools.wraps(abs)
def $f($x):
    <intbody;$x:int>

@ 0.5
@ $f:fn
def $f($x):
    if $x <= 0:
        return <int;$x:int>
    return $f(min($x, 3) - 1) + <int;$x:int>

@ 0.5
@ $f:fn
$c = <int>
def $f($x):
    nonlocal $c
    $c += $x
    return $c

@ 0.5
@ $f:fn
def $f($x):
    global COUNT
    COUNT += $x
    return COUNT

@ 0.5
@ $v:int
$g = <genfn>(<int!>)
$v = next($g, 0)
for $i in $g:
    <loop;$i:int>

@ 0.4
@ $v:list
def $g():
    try:
        $x = yield <int>
        LOG.append($x)
        yield <int>
    except <caught>:
        yield <int>
    finally:
        LOG.append('closed')
$h = $g()
$v = [next($h), $h.send(<int!>)]
$h.close()

@ 0.4
@ $v:list
def $g():
    try:
        yield <int>
    except <caught> as $e:
        LOG.append(str($e))
        yield <int>
$h = $g()
$v = [next($h), $h.throw(<error>)]

@ 0.5
class $K:
    y = <int!>
    def __init__(self, x):
        self.x = x
    def get(self, $x):
        return self.x + $x + self.y
LOG.append($K(<int>).get(<int!>))

@ 0.3
class $K(Point):
    def total(self):
        return super().total() + <int!>
LOG.append($K(<int>, <int>).total())

@ 0.4
$p = Point(<int>, <arr>)
$p.w += <arr!>
$p.x += 1
LOG.append($p.x)
print($p.w)

@ 0.3
$q = [$r for $r in (<arr>, <arr>) if $r.sum() > <float!>]
for $r in $q:
    <loop;$r:arr>
"""
