"""Two outputs that are computed rather than told: the log of a soak run, and a chart as an image."""
import struct, zlib


def delay_for(attempt, job):
    """Backoff::delay_for of the project, with its default settings."""
    full = min(200 * 2 ** (attempt - 1), 60_000)
    n = job ^ attempt << 48
    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9 % 2 ** 64
    n = (n ^ n >> 27) * 0x94d049bb133111eb % 2 ** 64
    return full - (n ^ n >> 31) % (full // 4 + 1)


def soak_log(jobs, lease, workers, boundary_bug):
    """What `cargo run --example soak` prints: the same arithmetic as examples/soak.rs of the project."""
    seed, now, idle, out = 7, 0, 0, []
    state = {n: ["ready", 0, 0] for n in range(1, jobs + 1)}
    counts = dict(pushed=jobs, acked=0, retried=0, dead=0, expired=0)
    held = [None] * workers

    def roll():
        nonlocal seed
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        return (seed >> 33) % 10

    def say(text):
        out.append(f"t={now:>8} {text}")

    while idle < 40:
        for n, (kind, attempts, until) in state.items():
            if kind == "running" and until < now:
                counts["expired"] += 1
                say(f"lease of #{n} ran out after attempt {attempts}")
                if attempts >= 5:
                    counts["dead"] += 1
                state[n] = ["dead" if attempts >= 5 else "ready", attempts, 0]
        busy = any(held)
        for w in range(workers):
            if held[w] is None:
                free = next((n for n, (kind, _, until) in state.items()
                             if kind == "ready" or kind == "delayed" and until <= now
                             or boundary_bug and kind == "running" and until <= now), None)
                if free:
                    busy, attempts = True, state[free][1] + 1
                    state[free] = ["running", attempts, now + lease]
                    held[w] = (free, attempts, now + (2 * lease if roll() == 9 else 25))
                    say(f"worker={w} takes #{free} attempt={attempts} until={now + lease}")
            elif held[w][2] <= now:
                n, attempts, _ = held[w]
                held[w], fails = None, roll() < 3
                if state[n][0] != "running" or state[n][1] != attempts:
                    say(f"worker={w} lost #{n} attempt={attempts}")
                elif fails and attempts >= 5:
                    counts["dead"] += 1
                    state[n] = ["dead", attempts, 0]
                    say(f"worker={w} gives up on #{n} attempt={attempts}")
                elif fails:
                    until = now + delay_for(attempts, n)
                    counts["retried"] += 1
                    state[n] = ["delayed", attempts, until]
                    say(f"worker={w} fails #{n} attempt={attempts} again at {until}")
                else:
                    counts["acked"] += 1
                    state[n] = ["done", attempts, 0]
                    say(f"worker={w} finishes #{n} attempt={attempts}")
        idle, now = (0, now + 25) if busy else (idle + 1, now + 250)
    return "\n".join(out + ["Metrics { " + ", ".join(f"{k}: {v}" for k, v in counts.items()) + " }"])


def chart_png(values, width=160, height=64):
    """A small line chart as a PNG with two bits a pixel. Stored, not compressed: zlib's output differs between builds."""
    top, rows = max(values), [[0] * width for _ in range(height)]
    for x in range(width):
        level = values[x * len(values) // width] * (height - 6) // top
        for y in range(level + 1):
            rows[height - 3 - y][x] = 2 if y == level else 1
    raw = b"".join(b"\0" + bytes(r[x] << 6 | r[x + 1] << 4 | r[x + 2] << 2 | r[x + 3] for x in range(0, width, 4)) for r in rows)
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(raw), len(raw) ^ 0xFFFF) + raw + struct.pack(">I", zlib.adler32(raw))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    palette = bytes((255, 255, 255, 203, 221, 240, 31, 96, 168))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 2, 3, 0, 0, 0))
            + chunk(b"PLTE", palette) + chunk(b"IDAT", stored) + chunk(b"IEND", b""))
