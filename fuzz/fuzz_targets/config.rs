//! Target of cargo-fuzz: a configuration file.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("ckpt-fuzz-config-{}", std::process::id()));
    if std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(dir.join("fabricatio.toml"), bytes)).is_ok() {
        let _ = ckpt_config::Loader::new(&dir).home_dir("/home/nobody").load();
    }
});
