//! A real Chromium, driven by WebDriver over plain HTTP.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something may take that is waited for. A machine that is busy is slow; nothing here is measured.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one window.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

/// Keys that have no letter, as WebDriver names them.
pub(crate) mod key {
    pub(crate) const TAB: &str = "\u{e004}";
    pub(crate) const ENTER: &str = "\u{e007}";
}

/// A driver, what it goes on to print, and its port; `None` if it ended instead.
fn start_driver() -> Option<(Child, impl Iterator<Item = String>, u16)> {
    let mut driver = Command::new("chromedriver")
        .args(["--port=0", "--log-level=SEVERE"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = "started successfully on port ";
    let port = lines.find_map(|line| line.split_once(said)?.1.trim_end_matches('.').parse().ok());
    if port.is_none() {
        let _ = driver.wait();
    }
    Some((driver, lines, port?))
}

impl Browser {
    /// Starts one; `None` where there is none, after saying so.
    pub(crate) async fn start() -> Option<Self> {
        let missing = ["chromium", "chromedriver"].into_iter().find(|program| !is_there(program));
        if let Some(missing) = missing {
            let reason =
                format!("{missing} is not installed; on Debian: apt-get install chromium chromium-driver");
            assert!(std::env::var_os("THROUGHLINE_REQUIRE").is_none_or(|all| all != "all"), "{reason}");
            println!("skipped: {reason}");
            return None;
        }
        // It takes a free port of one family of addresses, and gives up if the same is taken in the other.
        let (driver, lines, port) = (0..5).find_map(|_| start_driver()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        // What it prints later is read away, so that it never waits.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, address, session: String::new(), _profile: profile };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", "--disable-default-apps", "--window-size=1280,1000", profile],
            "perfLoggingPrefs": { "enableNetwork": true, "enablePage": false },
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let session = browser.call("POST", "/session", &wanted).await;
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        Some(browser)
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.tried(method, path, body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    async fn tried(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let (head, address) = (format!("{method} {path} HTTP/1.1"), self.address);
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let asked = tokio::task::spawn_blocking(move || ask(address, &head, &body));
        let (status, value) = asked.await.unwrap().unwrap();
        if status == 200 { Ok(value["value"].clone()) } else { Err(value) }
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.call("POST", &format!("/session/{}{path}", self.session), &body).await
    }

    pub(crate) async fn open(&self, address: &str) {
        self.post("/url", json!({ "url": address })).await;
    }

    pub(crate) async fn address(&self) -> String {
        let address = self.call("GET", &format!("/session/{}/url", self.session), &Value::Null).await;
        address.as_str().unwrap().to_owned()
    }

    /// What a script returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, condition: &str) {
        let begun = Instant::now();
        let script = format!("return Boolean({condition})");
        loop {
            // A page that is just being left has nothing to say.
            let asked = json!({ "script": script, "args": [] });
            let path = format!("/session/{}/execute/sync", self.session);
            if self.tried("POST", &path, &asked).await == Ok(json!(true)) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                let page = self.run("return document.body.innerText").await;
                panic!("`{condition}` does not come true at {}:\n{page}", self.address().await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the page says something.
    pub(crate) async fn until_says(&self, text: &str) {
        self.until(&format!("document.body && document.body.innerText.includes({})", json!(text))).await;
    }

    /// Waits until the page is another one; without scripts there is no other way to tell.
    pub(crate) async fn until_at(&self, end: &str) {
        let begun = Instant::now();
        while !self.address().await.ends_with(end) {
            assert!(begun.elapsed() < PATIENCE, "still at {}", self.address().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn click(&self, selector: &str) {
        let found = self.post("/element", json!({ "using": "css selector", "value": selector })).await;
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.post(&format!("/element/{id}/click"), json!({})).await;
    }

    /// Presses a key.
    pub(crate) async fn press(&self, key: &str) {
        let press = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": press }] }))
            .await;
    }

    /// One of Chromium's own commands.
    pub(crate) async fn command(&self, name: &str, params: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": name, "params": params })).await
    }

    /// As on a device of this width, with this preference for colours.
    pub(crate) async fn look_like(&self, width: u32, scheme: &str) {
        let metrics =
            json!({ "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.command("Emulation.setDeviceMetricsOverride", metrics).await;
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.command("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Saves a picture of the whole page where the environment asks for pictures.
    pub(crate) async fn shoot(&self, name: &str) {
        let Some(folder) = std::env::var_os("THROUGHLINE_SHOTS") else { return };
        let shot = self.command("Page.captureScreenshot", json!({ "captureBeyondViewport": true })).await;
        let encoded = shot["data"].as_str().unwrap();
        let path = std::path::Path::new(&folder).join(format!("{name}.png"));
        std::fs::write(path, decode_base64(encoded)).unwrap();
    }

    /// Nothing was reported as an error, and nothing was asked of anybody but `server`.
    pub(crate) async fn assert_well_behaved(&self, server: SocketAddr) {
        let console = self.post("/se/log", json!({ "type": "browser" })).await;
        let errors: Vec<&Value> =
            console.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE").collect();
        assert!(errors.is_empty(), "{errors:?}");
        let network = self.post("/se/log", json!({ "type": "performance" })).await;
        let mut asked = 0;
        for entry in network.as_array().unwrap() {
            let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            if event["message"]["method"] != "Network.requestWillBeSent" {
                continue;
            }
            let address = event["message"]["params"]["request"]["url"].as_str().unwrap();
            let is_ours = address.starts_with(&format!("http://{server}/"));
            // A new tab of the browser's own comes first.
            let is_within = ["data:", "about:", "chrome:"].iter().any(|scheme| address.starts_with(scheme));
            assert!(is_ours || is_within, "{address}");
            asked += u32::from(is_ours);
        }
        assert!(asked > 0, "the log shows what was asked for");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium ends with its session; the driver with us.
        if !self.session.is_empty() {
            let _ = ask(self.address, &format!("DELETE /session/{} HTTP/1.1", self.session), "");
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// One request to the driver. It keeps connections open, so what it says is read by its length.
fn ask(address: SocketAddr, head: &str, body: &str) -> std::io::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let kind = "application/json; charset=utf-8";
    write!(
        stream,
        "{head}\r\nHost: {address}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut reader = BufReader::new(stream);
    let (mut status, mut length, mut line) = (0, 0, String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest.split(' ').next().and_then(|status| status.parse().ok()).unwrap_or_default();
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
        line.clear();
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text)?;
    Ok((status, serde_json::from_slice(&text).unwrap_or_default()))
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Bytes of a text in base64.
fn decode_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for six in text.bytes().filter_map(value) {
        held = (held << 6 | u32::from(six)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
