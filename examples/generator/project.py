"""The model of a project: its files, its commits, and the commands that look at them."""
import difflib, fnmatch, hashlib, re, shlex

from .story import STORIES, steps_of


class World:
    """The files of one project, its commits, and the commands that look at them."""
    def __init__(self, bundle, rng):
        self.files = {s.arg: s.body for s in steps_of(STORIES / bundle)}
        self.rng, self.commits, self.watch = rng, [], None

    def save(self):
        return dict(self.files), list(self.commits)

    def restore(self, saved):
        self.files, self.commits = dict(saved[0]), list(saved[1])

    def head(self):
        return self.commits[-1][3] if self.commits else {}

    def replace(self, path, old, new):
        text = self.files[path]
        if text.count(old) != 1:
            raise SystemExit(f"{path}: the text to replace occurs {text.count(old)} times:\n{old}")
        self.files[path] = text.replace(old, new)
        return text

    def numbered(self, path, start, count):
        lines = self.files[path].splitlines()[start - 1:start - 1 + count]
        return "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(lines, start))

    def grep(self, pattern, glob="*"):
        hits = []
        for path in sorted(self.files):
            if fnmatch.fnmatch(path, glob):
                hits += [f"{path}:{n}:{line}" for n, line in enumerate(self.files[path].splitlines(), 1)
                         if re.search(pattern, line)]
        return hits

    def line_of(self, path, needle, after=""):
        lines = self.files[path].splitlines()
        first = next((i for i, l in enumerate(lines) if after and f"fn {after}(" in l or f"def {after}(" in l), 0)
        for n, line in enumerate(lines[first:], first + 1):
            if needle in line:
                return n, line.index(needle) + 1
        raise SystemExit(f"{path}: no line with {needle!r} after {after!r}")

    def changed(self):
        old = self.head()
        return [(p, "A" if p not in old else "D" if p not in self.files else "M")
                for p in sorted(set(old) | set(self.files)) if old.get(p) != self.files.get(p)]

    def diff(self, old=None, new=None, only=""):
        old, new, out = self.head() if old is None else old, self.files if new is None else new, []
        for path in sorted(set(old) | set(new)):
            a, b = old.get(path), new.get(path)
            if a == b or not path.startswith(only):
                continue
            out.append(f"diff --git a/{path} b/{path}")
            out += [l.rstrip("\n") for l in difflib.unified_diff(
                (a or "").splitlines(), (b or "").splitlines(),
                f"a/{path}" if a is not None else "/dev/null", f"b/{path}" if b is not None else "/dev/null", lineterm="")]
        return "\n".join(out)

    def stat(self, old, new):
        out, plus, minus = [], 0, 0
        for path in sorted(set(old) | set(new)):
            if old.get(path) == new.get(path):
                continue
            lines = self.diff(old, new, path).splitlines()[3:]
            p, m = sum(l.startswith("+") for l in lines), sum(l.startswith("-") for l in lines)
            out.append(f" {path:<24} | {p + m:>4} {'+' * min(p, 30)}{'-' * min(m, 20)}")
            plus, minus = plus + p, minus + m
        total = f" {len(out)} file{'s'[:len(out) != 1]} changed, {plus} insertions(+), {minus} deletions(-)"
        return out, total

    def commit(self, message, date, branch="main"):
        digest = hashlib.sha1(f"{message}{date}{len(self.commits)}".encode()).hexdigest()
        new = dict(self.files)
        total = self.stat(self.head(), new)[1]
        self.commits.append((digest, message, date, new))
        return f"[{branch} {digest[:7]}] {message}\n{total}"

    def run(self, command, date, branch):
        """The output of a command that only looks at the files, or None for one this model does not know."""
        words = shlex.split(command.split(" | ")[0])
        if command.startswith("git commit -am ") or command.startswith("git add -A && git commit -m "):
            return self.commit(words[-1], date, branch)
        if command.startswith("git log --oneline"):
            count = int(words[-1][1:]) if words[-1][1:].isdigit() else 10
            return "\n".join(f"{c[0][:7]} {c[1]}" for c in self.commits[::-1][:count])
        if command == "git status --short":
            return "\n".join(f"{'??' if kind == 'A' else ' ' + kind} {path}" for path, kind in self.changed())
        if command == "git diff --stat":
            lines, total = self.stat(self.head(), self.files)
            return "\n".join(lines + [total])
        if command.startswith("git diff"):
            return self.diff(only=words[2] if len(words) > 2 else "")
        if command == "git show --stat HEAD":
            digest, message, when, new = self.commits[-1]
            lines, total = self.stat(self.commits[-2][3] if len(self.commits) > 1 else {}, new)
            return "\n".join([f"commit {digest}", f"Date:   {when}", "", f"    {message}", ""] + lines + [total])
        if words[0] == "git" and words[1] == "checkout" and words[2] == "--":
            for path in words[3:]:
                self.files[path] = self.head()[path]
            return ""
        if words[0] == "rm" and all(w in self.files for w in words[1:]):
            for path in words[1:]:
                del self.files[path]
            return ""
        if words[0] == "wc":
            rows = [(len(self.files[p].splitlines()), p) for p in sorted(self.files)
                    if any(fnmatch.fnmatch(p, g) for g in words[2:])]
            return "\n".join(f"{n:>6} {p}" for n, p in rows + [(sum(n for n, _ in rows), "total")])
        if words[0] == "ls":
            folder = words[1].rstrip("/") + "/" if len(words) > 1 else ""
            return "\n".join(sorted({p[len(folder):].split("/")[0] for p in self.files if p.startswith(folder)}))
        if words[0] == "find":
            return "\n".join(f"./{p}" for p in sorted(self.files) if p.endswith(words[-1].lstrip("*")))
        if words[0] == "cat":
            return "\n".join(self.files[p].rstrip("\n") for p in words[1:] if p in self.files)
        return None

    def failures(self, body):
        """`fail NAME @ TEXT OF THE LINE`, then the lines of the message."""
        out = []
        for line in body.splitlines():
            if line.startswith("fail "):
                name, _, needle = line[5:].partition(" @ ")
                out.append([name, needle, []])
            elif out:
                out[-1][2].append(line)
        return out

    def cargo_tests(self):
        suites = []
        for path in sorted(self.files):
            if path.endswith(".rs"):
                module = "" if path.startswith("tests/") else path[4:-3].replace("/", "::") + "::tests::"
                found = re.findall(r"#\[test\]\s+fn (\w+)", self.files[path])
                suites.append((path, [module + name for name in found]))
        units = [(p, t) for p, names in suites if p.startswith("src/") for t in names]
        return [("unittests src/lib.rs", "orchard", units)] + [
            (p, p[6:-3], [(p, t) for t in names]) for p, names in suites if p.startswith("tests/")]

    def cargo_test(self, arg, body):
        fails = self.failures(body)
        if self.watch:
            self.watch("cargo", arg, [f[0] for f in fails])
        out = [f"   Compiling orchard v0.3.0 (/home/ada/orchard)",
               f"    Finished `test` profile [unoptimized + debuginfo] target(s) in {self.rng.uniform(.5, 2.4):.2f}s"]
        for title, crate, tests in self.cargo_tests():
            chosen = sorted((t for t in tests if arg in t[1]), key=lambda t: t[1])
            broken = [f for f in fails if f[0] in [t[1] for t in chosen]]
            mark = hashlib.sha1(crate.encode()).hexdigest()[:16]
            out += [f"     Running {title} (target/debug/deps/{crate}-{mark})", "", f"running {len(chosen)} tests"]
            out += [f"test {t} ... {'FAILED' if t in [b[0] for b in broken] else 'ok'}" for _, t in chosen]
            if broken:
                out += ["", "failures:", ""]
            for name, needle, message in broken:
                path = next(p for p, t in chosen if t == name)
                own = "" if needle.startswith("@ ") else name.split("::")[-1]
                line, column = self.line_of(path, needle.removeprefix("@ "), own)
                out += [f"---- {name} stdout ----", "", f"thread '{name}' panicked at {path}:{line}:{column}:"] + message
                out += ["note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", ""]
            if broken:
                out += ["", "failures:"] + [f"    {b[0]}" for b in broken]
            out += ["", f"test result: {'FAILED' if broken else 'ok'}. {len(chosen) - len(broken)} passed; {len(broken)} failed; "
                    f"0 ignored; 0 measured; {len(tests) - len(chosen)} filtered out; finished in 0.0{self.rng.randint(0, 4)}s", ""]
            if broken:
                what = "--lib" if crate == "orchard" else f"--test {crate}"
                return "\n".join(out + [f"error: test failed, to rerun pass `{what}`"]), 101
        return "\n".join(out).rstrip(), 0

    def unittest(self, arg, body):
        fails, out, tails, count = self.failures(body), [], [], 0
        if self.watch:
            self.watch("unittest", arg, [f[0] for f in fails])
        for path in sorted(p for p in self.files if p.startswith("tests/test_") and arg in p):
            module, case = path[:-3].replace("/", "."), ""
            found = re.findall(r"^class (\w+)|^    def (test_\w+)", self.files[path], re.M)
            order = sorted((c, t) for c, t in self.cases(found))
            for case, test in order:
                broken = next((f for f in fails if f[0] == test), None)
                kind = "ok"
                if broken:
                    kind = "FAIL" if broken[2][-1].startswith("AssertionError") else "ERROR"
                    line = self.line_of(path, broken[1], test)[0]
                    tails += ["=" * 70, f"{kind}: {test} ({module}.{case}.{test})", "-" * 70, "Traceback (most recent call last):",
                              f'  File "/home/noor/lantern/{path}", line {line}, in {test}', f"    {broken[1].strip()}"] + broken[2] + [""]
                out.append(f"{test} ({module}.{case}.{test}) ... {kind}")
                count += 1
        bad = sum(k in l for l in out for k in ("... FAIL", "... ERROR"))
        kinds = ", ".join(f"{n}={c}" for n, c in (("failures", sum("... FAIL" in l for l in out)),
                                                  ("errors", sum("... ERROR" in l for l in out))) if c)
        out += [""] + tails + ["-" * 70, f"Ran {count} tests in 0.{self.rng.randint(11, 96):03d}s", "", f"FAILED ({kinds})" if bad else "OK"]
        return "\n".join(out), 1 if bad else 0

    @staticmethod
    def cases(found):
        case = ""
        for name, test in found:
            case = name or case
            if test:
                yield case, test
