//! The words that tell what a step is for.

/// Whether a table holds a word.
pub(super) fn has(table: &str, word: &str) -> bool {
    table.split_whitespace().any(|known| known == word)
}

/// Programs that every machine has, or that only look.
pub(super) const COMMON: &str = "\
    ls cat grep egrep rg sed awk find fd head tail wc pwd echo printf which command type stat du df tree \
    file diff cmp sort uniq cut tr xxd hexdump less jq yq date env true false test [ [[ sleep cd export set \
    unset source . read tput man nl column basename dirname realpath readlink mkdir rmdir touch cp mv rm ln \
    chmod chown ps kill pkill lsof open pbcopy xargs tee seq for while if until case function local return \
    exit wait trap ssh scp rsync curl wget nc ping dig nslookup tar zip unzip gzip gunzip md5 md5sum \
    sha256sum shasum openssl base64 strings nm otool tmux screen top htop uname whoami id hostname sw_vers \
    sysctl free uptime printenv clear history alias sudo su apt apt-get brew yum dnf apk pacman snap \
    systemctl journalctl launchctl osascript say fold paste comm join rev tac shuf split od bc expr mktemp \
    python python2 python3 node perl ruby php bash sh zsh fish eval exec let declare view vim vi nano emacs \
    code hub done fi esac then else do break continue bat sqlite3 psql mysql redis-cli claude codex \
    apply_patch applypatch watch script ts strace dtruss killall pgrep netstat ss ip ifconfig mount umount \
    locale ulimit nproc lscpu arch";

/// Programs that run tasks or belong to a toolchain: their words say what for.
pub(super) const RUNNERS: &str = "\
    mise just make gmake task npm pnpm yarn bun deno npx bunx pnpx cargo go uv uvx poetry pdm hatch rye tox \
    nox pytest jest vitest mocha gradle gradlew mvn mvnw dotnet bazel bazelisk rake bundle rails mix swift \
    xcodebuild ctest cmake ninja meson docker docker-compose podman turbo nx lerna tsc eslint prettier biome \
    oxlint dprint ruff black mypy pyright flake8 pylint isort golangci-lint gofmt goimports gofumpt \
    staticcheck rustfmt sqlc buf protoc prisma alembic atlas goose dbmate helm terraform tofu shellcheck \
    shfmt goreleaser changeset lefthook pre-commit act playwright cypress vite next astro hugo mkdocs pip \
    pip3 composer phpunit rspec sbt lein stack cabal zig flutter dart wasm-pack trunk earthly pants buck2 \
    tree-sitter hatchling setup.py manage.py artisan corepack nix devbox direnv";

pub(super) const TEST: &str = "\
    test tests spec specs e2e check verify ci nextest pytest jest vitest mocha tox nox ctest phpunit rspec \
    playwright cypress integration unit bench";

pub(super) const LINT: &str = "\
    lint clippy eslint vet typecheck tsc mypy pyright ruff flake8 pylint golangci staticcheck biome oxlint \
    validate audit shellcheck types credo dialyzer deny";

pub(super) const FORMAT: &str = "\
    fmt format prettier gofmt goimports gofumpt black isort rustfmt shfmt dprint";

pub(super) const GENERATE: &str = "\
    generate gen codegen sqlc buf protoc migrate migration migrations schema prisma bindings i18n swagger \
    openapi";

pub(super) const BUILD: &str = "\
    build compile bundle package assemble dist docs doc";

pub(super) const RELEASE: &str = "\
    release publish goreleaser changeset deploy changelog";

pub(super) const INSTALL: &str = "\
    install sync setup bootstrap tidy restore deps lock vendor";

/// What programs are told to do; other words are what they are to do it to.
pub(super) const VERBS: &str = "\
    add remove rm list ls show create update delete get set run start stop status inspect refresh search view \
    edit close open build index explain context impact stale import export init check sync log diff apply plan \
    new info describe logs exec eval grade validate test prepare dep deps link ready doctor snapshot serve bench \
    capture wait send merge checkpoint session review enable disable push pull login whoami version \
    up down ps configure compare";
