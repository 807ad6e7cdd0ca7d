//! Programs that change nothing, and with which options.
//!
//! An option that is not here makes a command one that is asked about. Left out on purpose: `awk`, `less`, `env`, `printenv`, `ps`
//! and `xargs` (they run others or show variables), and every language's own tools, `--version` included: version managers
//! and wrappers run what a project's files name. Nor does anything here follow links on its way down a tree.

use super::flags::Style;

/// What the arguments of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    /// Paths.
    Paths,
    /// At most so many paths: further ones would be written to.
    AtMost(usize),
    /// A pattern or script, then paths. With one of these options the pattern comes by it.
    Pattern(&'static [&'static str]),
    /// Paths of object files. `@file` names a file of further arguments.
    ObjectFiles,
    /// Paths. A folder among them is read together with what the links in it lead to.
    Compared,
    /// Text.
    Text,
    /// Names of programs, without a path: whether a file is there is not told.
    Names,
    /// A format that is looked at, then text.
    Format,
    /// Text that begins with `+`.
    PlusText,
    /// Paths, and an expression that is made of options.
    Find,
    /// A script that is looked at, then paths.
    Sed,
    /// A filter that is looked at, then paths.
    Jq,
    /// An expression that is looked at.
    Test,
    /// Nothing.
    Nothing,
}

/// A program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) options: &'static str,
    pub(super) arguments: Arguments,
    pub(super) style: Style,
}

const fn program(name: &'static str, options: &'static str, arguments: Arguments) -> Program {
    Program { name, options, arguments, style: Style::Letters }
}

use Arguments::{AtMost, Nothing, Paths, Pattern, PlusText, Text};

const GREP: &str = "-# -a -b -c -E -F -G -H -h -i -I -L -l -n -o -P -q -r -s -T -U -V -v -w -x -y -Z -z \
    -A% -B% -C% -e# -f@ -m% -d# -D# --after-context=% --before-context=% --context=% --regexp=# --file=@ --max-count=% \
    --include=# --exclude=# --exclude-dir=# --exclude-from=@ --label=# --color=? --colour=? --count --extended-regexp \
    --fixed-strings --basic-regexp --perl-regexp --with-filename --no-filename --ignore-case --no-ignore-case \
    --files-without-match --files-with-matches --line-number --only-matching --quiet --silent --recursive \
    --no-messages --invert-match --word-regexp --line-regexp --null --null-data --byte-offset \
    --initial-tab --text --binary-files=# --line-buffered --version --help";
const GREP_BY: &[&str] = &["-e", "-f", "--regexp", "--file"];

const SUMS: &str = "-b -t -z --binary --text --tag --zero";

/// All of them.
pub(super) const PROGRAMS: &[Program] = &[
    program(
        "ls",
        "-1 -A -B -C -F -G -N -Q -R -S -U -X -Z -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s -t -u -v -x \
        --all --almost-all --author --escape --block-size=# --color=? --directory --classify=? --file-type --format=# \
        --full-time --group-directories-first --no-group --human-readable --si --inode --ignore=# --hide=# --kibibytes \
        --numeric-uid-gid --literal --indicator-style=# --quote-name --quoting-style=# --reverse --recursive \
        --size --sort=# --time=# --time-style=# --width=# --zero --hyperlink=? --version --help",
        Paths,
    ),
    program(
        "cat",
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs \
        --show-nonprinting --version --help",
        Paths,
    ),
    program("tac", "-b -r -s# --before --regex --separator=#", Paths),
    program(
        "head",
        "-# -c% -n% -q -v -z --bytes=# --lines=# --quiet --silent --verbose --zero-terminated --version --help",
        Paths,
    ),
    program(
        "tail",
        "-# -c% -n% -f -F -q -v -s% -z --bytes=# --lines=# --follow=? --retry --pid=# --quiet --silent --verbose \
        --sleep-interval=# --max-unchanged-stats=# --zero-terminated --version --help",
        Paths,
    ),
    program(
        "wc",
        "-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total=# --version --help",
        Paths,
    ),
    program("nl", "-b# -d# -f# -h# -i# -l# -n# -p -s# -v# -w#", Paths),
    program("pwd", "-L -P", Nothing),
    program("echo", "", Text),
    program("printf", "", Arguments::Format),
    program("true", "", Text),
    program("false", "", Text),
    program(":", "", Text),
    program("sleep", "", Text),
    program("seq", "-f# -s# -w --format=# --separator=# --equal-width", Text),
    program("which", "-a -s", Arguments::Names),
    program("type", "-a -f -p -P -t", Arguments::Names),
    program("basename", "-a -s# -z --multiple --suffix=# --zero", Text),
    program("dirname", "-z --zero", Text),
    program(
        "realpath",
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet \
        --relative-to=@ --relative-base=@ --strip --no-symlinks --zero",
        Paths,
    ),
    program(
        "readlink",
        "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline",
        Paths,
    ),
    program(
        "file",
        "-b -h -i -I -k -L -N -r -v --brief --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference \
        --version --help",
        Paths,
    ),
    program(
        "stat",
        "-L -f -t -x -l -c# --dereference --file-system --format=# --printf=# --terse --cached=# --version --help",
        Paths,
    ),
    program(
        "du",
        "-0 -A -a -b -c -d% -h -k -l -m -P -S -s -x --all --apparent-size --block-size=# --bytes --total \
        --max-depth=# --human-readable --inodes --si --separate-dirs --summarize --threshold=# --time=? --time-style=# \
        --exclude=# --one-file-system --version --help",
        Paths,
    ),
    program(
        "df",
        "-a -B# -h -H -i -k -l -m -P -T -t# -x# --all --human-readable --si --inodes --local --portability --output=? \
        --print-type --total --type=# --exclude-type=#",
        Paths,
    ),
    program("date", "-u -R -d# --utc --universal --date=# --iso-8601=? --rfc-3339=# --rfc-email", PlusText),
    program(
        "uname",
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine \
        --processor --hardware-platform --operating-system",
        Nothing,
    ),
    program("arch", "", Nothing),
    program("nproc", "--all --ignore=#", Nothing),
    program("whoami", "", Nothing),
    program("id", "-g -G -n -r -u -Z -z --group --groups --name --real --user --zero", Text),
    program("groups", "", Text),
    program("uptime", "-p -s --pretty --since", Nothing),
    program("free", "-b -k -m -g -h -l -t -w --human --wide --total --mega --giga --kilo", Nothing),
    program("grep", GREP, Pattern(GREP_BY)),
    program("egrep", GREP, Pattern(GREP_BY)),
    program("fgrep", GREP, Pattern(GREP_BY)),
    program(
        "rg",
        "-0 -a -b -c -E# -F -H -I -i -l -M# -N -n -o -P -p -q -S -s -T# -t# -U -u -v -w -x -. \
        -A# -B# -C# -d# -e# -f@ -g# -j# -m# -r# --after-context=# --before-context=# --context=# --regexp=# --file=@ --glob=# \
        --iglob=# --max-count=# --max-depth=# --max-columns=# --max-columns-preview --max-filesize=# --replace=# --type=# --type-not=# \
        --type-list --threads=# --sort=# --sortr=# --color=# --colors=# --column --no-column --count --count-matches --crlf \
        --debug --encoding=# --engine=# --files --files-with-matches --files-without-match --fixed-strings --heading \
        --no-heading --hidden --ignore-case --ignore-file=@ --include-zero --invert-match --json --line-number --no-line-number \
        --line-regexp --multiline --multiline-dotall --no-config --no-ignore --no-ignore-vcs --no-ignore-parent --no-messages \
        --null --only-matching --passthru --path-separator=# --pcre2 --pretty --quiet --smart-case --case-sensitive --stats \
        --text --trim --unrestricted --vimgrep --with-filename --no-filename --word-regexp --one-file-system --version --help",
        Pattern(&["-e", "-f", "--regexp", "--file", "--files", "--type-list"]),
    ),
    Program {
        name: "find",
        arguments: Arguments::Find,
        style: Style::Words,
        options: "-H -P -O1 -O2 -O3 -name# -iname# -path# \
        -ipath# -wholename# -iwholename# -regex# -iregex# -regextype# -lname# -ilname# -type# -xtype# -maxdepth# -mindepth# \
        -size# -mtime# -mmin# -atime# -amin# -ctime# -cmin# -newer@ -anewer@ -cnewer@ -newermt# -newerct# -newerat# -samefile@ \
        -inum# -links# -user# -group# -uid# -gid# -perm# -fstype# -used# -empty -executable -readable -writable -nouser -nogroup \
        -true -false -not -a -and -o -or -depth -d -mount -xdev -daystart -noleaf -ignore_readdir_race -nowarn -warn -prune \
        -quit -print -print0 -printf# -ls",
    },
    program(
        "tree",
        "-a -A -C -d -D -f -F -g -h -i -I# -J -L# -N -n -p -P# -q -Q -r -s -S -t -u -U -v -x -X --noreport --prune \
        --dirsfirst --filesfirst --gitignore --charset=# --du --si --inodes --device --timefmt=# --sort=# --matchdirs \
        --ignore-case --filelimit=# --version --help",
        Paths,
    ),
    program(
        "diff",
        "-a -b -B -c -C# -d -e -E -F# -i -I# -L# -n -N -p -P -q -s -S# -t -T -u -U# -w -W# -x# -X@ -y -Z --brief \
        --report-identical-files --unified=? --context=? --side-by-side --width=# --new-file --ignore-case \
        --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-trailing-space --ignore-matching-lines=# \
        --exclude=# --exclude-from=@ --text --color=? --label=# --minimal --suppress-common-lines --strip-trailing-cr \
        --no-dereference --show-c-function --left-column --version --help",
        Arguments::Compared,
    ),
    program(
        "cmp",
        "-b -i# -l -n# -s --print-bytes --ignore-initial=# --verbose --bytes=# --quiet --silent",
        Paths,
    ),
    program(
        "comm",
        "-1 -2 -3 -i -z --check-order --nocheck-order --output-delimiter=# --total --zero-terminated",
        Paths,
    ),
    program("join", "-a# -e# -i -j# -o# -t# -v# -1# -2# -z", Paths),
    program("paste", "-d# -s -z --delimiters=# --serial", Paths),
    program(
        "sort",
        "-b -c -C -d -f -g -h -i -k# -M -m -n -r -R -s -t# -u -V -z --ignore-leading-blanks --check=? --dictionary-order \
        --ignore-case --general-numeric-sort --human-numeric-sort --key=# --month-sort --numeric-sort --reverse --random-sort \
        --stable --field-separator=# --unique --version-sort --zero-terminated --parallel=# --sort=#",
        Paths,
    ),
    program(
        "uniq",
        "-c -d -D -f# -i -s# -u -w# -z --count --repeated --all-repeated=? --skip-fields=# --ignore-case --skip-chars=# \
        --unique --check-chars=# --group=? --zero-terminated",
        AtMost(1),
    ),
    program(
        "cut",
        "-b# -c# -d# -f# -n -s -z --bytes=# --characters=# --delimiter=# --fields=# --complement --only-delimited \
        --output-delimiter=# --zero-terminated",
        Paths,
    ),
    program("tr", "-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", Text),
    program("rev", "", Paths),
    program("fold", "-b -s -w# --bytes --spaces --width=#", Paths),
    program("fmt", "-c -s -t -u -w# --width=#", Paths),
    program("expand", "-i -t# --initial --tabs=#", Paths),
    program("column", "-c# -s# -t -x -N# -o# -R# -J --table --separator=# --output-separator=#", Paths),
    program("od", "-A# -j# -N# -t# -v -w -a -b -c -d -f -i -l -o -s -x", Paths),
    program("hexdump", "-C -b -c -d -n% -o -s% -v -x", Paths),
    program("xxd", "-b -c% -g% -i -l% -p -s% -u -E -e", AtMost(1)),
    program("strings", "-a -f -n% -o -t# -e# -#", Arguments::ObjectFiles),
    program("cksum", "", Paths),
    program("md5sum", SUMS, Paths),
    program("sha1sum", SUMS, Paths),
    program("sha256sum", SUMS, Paths),
    program("sha512sum", SUMS, Paths),
    program("b2sum", SUMS, Paths),
    program("b3sum", "", Paths),
    program("sed", "-n -E -r --quiet --silent --regexp-extended", Arguments::Sed),
    program(
        "jq",
        "-a -c -C -e -M -n -r -R -S -s -j --ascii-output --compact-output --color-output --exit-status \
        --monochrome-output --null-input --raw-output --raw-input --slurp --sort-keys --tab --join-output --indent=% --version",
        Arguments::Jq,
    ),
    Program { name: "test", options: "", arguments: Arguments::Test, style: Style::Words },
    Program { name: "[", options: "", arguments: Arguments::Test, style: Style::Words },
];
