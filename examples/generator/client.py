"""What both writers need: seeded ids and times, token estimates, and running a step of a story."""
import base64, datetime, random, re

from .media import soak_log
from .project import World
from .story import settings_of, steps_of, STORIES

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOOLS = ("read", "grep", "bash", "bash!", "test", "edit", "write", "todo", "soak", "agent", "search", "build")


class Client:
    """Plays a story. A subclass writes the records of one client."""
    def __init__(self, story, before=None):
        """`before` is the session whose end this one starts from."""
        self.steps = steps_of(STORIES / f"{story}.story.txt")
        self.set = settings_of(self.steps.pop(0))
        self.rng = random.Random(f"throughline example {story}")
        self.world = World(self.set["project"] + ".files.txt", self.rng)
        self.clock = datetime.datetime.fromisoformat(self.set["start"])
        self.cwd, self.branch, self.marks = self.set["cwd"], self.set.get("branch", "main"), {}
        self.world.commit("Import", self.clock.isoformat(), self.branch)
        if before:
            self.world.restore(before.world.save())
        self.context = int(self.set.get("base", 14_000))

    # ids and time
    def base62(self, prefix, length):
        return prefix + "".join(self.rng.choice(BASE62) for _ in range(length))

    def hexes(self, length):
        return f"{self.rng.getrandbits(4 * length):0{length}x}"

    def uuid(self):
        h = self.hexes(32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) % 4]}{h[17:20]}-{h[20:]}"

    def uuid7(self):
        t, h = f"{int(self.clock.timestamp() * 1000):012x}", self.hexes(20)
        return f"{t[:8]}-{t[8:]}-7{h[1:4]}-{'89ab'[int(h[4], 16) % 4]}{h[5:8]}-{h[8:20]}"

    def opaque(self, low, high):
        """Stands for a signature or an encrypted text: random bytes that mean nothing."""
        return base64.b64encode(self.rng.randbytes(self.rng.randint(low, high))).decode()

    def now(self):
        return self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def pass_time(self, low, high):
        self.clock += datetime.timedelta(milliseconds=self.rng.randint(int(low * 1000), int(high * 1000)))

    def wait(self, text):
        number, unit = int(text[:-1]), {"m": "minutes", "h": "hours", "s": "seconds"}[text[-1]]
        self.clock += datetime.timedelta(**{unit: number})

    @staticmethod
    def tokens(text):
        wide = sum(ord(c) > 0x2e80 for c in text)
        return int((len(text) - wide) / 3.7 + wide * 0.9) + 3

    # steps
    def play(self):
        """Groups the steps into messages: what is thought and said before a tool call travels with it."""
        queue = list(self.steps)
        while queue:
            step = queue.pop(0)
            if step.kind in ("think", "say") or step.kind in TOOLS:
                group = [step]
                while queue and (queue[0].joined or group[-1].kind in ("think", "say") and (
                        queue[0].kind in TOOLS or queue[0].kind == "say" and group[-1].kind == "think")):
                    group.append(queue.pop(0))
                self.message(group, interrupted=bool(queue) and queue[0].kind in ("interrupt", "abort"),
                             more=bool(queue) and (queue[0].kind in ("think", "say") or queue[0].kind in TOOLS))
            else:
                getattr(self, "on_" + step.kind.replace("-", "_"))(step)

    def output_of(self, step):
        """(command, output, exit status) of a step that runs a command."""
        if step.kind == "test":
            run = self.world.cargo_test if self.set["project"] == "orchard" else self.world.unittest
            command = ("cargo test" if self.set["project"] == "orchard" else "python -m unittest -v") + (f" {step.arg}" if step.arg else "")
            return (command, *run(step.arg, step.body))
        if step.kind == "soak":
            jobs, lease, workers, bug = (int(n) for n in step.arg.split())
            if self.world.watch:
                self.world.watch("soak", step.arg, soak_log(jobs, lease, workers, bug))
            head = "    Finished `release` profile [optimized] target(s) in 1.92s\n     Running `target/release/examples/soak " + f"{jobs}`\n"
            return f"cargo run --release --example soak -- {jobs}", head + soak_log(jobs, lease, workers, bug), 0
        if step.kind == "build":
            return (*self.many_pages(int(step.arg)), 0)
        if step.body:
            if self.world.watch:
                self.world.watch("told", step.arg, step.body)
            return step.arg, step.body, int(step.kind == "bash!")
        known = self.world.run(step.arg, self.now(), self.branch)
        if known is None:
            known = "" if re.match(r"(mkdir|touch|cargo (fmt|clippy|build)|git (add|restore|switch))", step.arg) else None
        if known is None:
            raise SystemExit(f"no output for: {step.arg}")
        return step.arg, known, 0

    def many_pages(self, count):
        """A build of made-up pages and the listing of what it wrote."""
        command = (f"python tools/many.py {count} /tmp/many && echo '<ul>{{% for p in pages %}}<li>{{{{ p.title }}}}</li>{{% end %}}</ul>"
                   f"{{{{ body }}}}' > /tmp/many/_template.html && python -m lantern build /tmp/many /tmp/out && ls -l /tmp/out/news/*/index.html")
        stamp = self.clock.strftime("%b %d %H:%M")
        rows = [f"-rw-r--r-- 1 noor noor {self.rng.randint(43_456, 45_038)} {stamp} /tmp/out/news/{n:05}/index.html" for n in range(count)]
        return command, "\n".join([f"{count + 7} written, 0 unchanged"] + rows)

    def on_deleted(self, step):
        """The user removed a file, outside the session."""
        del self.world.files[step.arg]

    def on_mark(self, step):
        self.marks[step.arg] = (self.world.save(), self.parent if hasattr(self, "parent") else None, self.context)

    def on_wait(self, step):
        self.wait(step.arg)
