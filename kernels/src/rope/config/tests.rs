use super::*;

fn outer() -> Outer<'static> {
    Outer { head_dim: 128, theta: Some(10_000.0), max_position_embeddings: Some(8192), ..Outer::default() }
}

fn formula(json: &str) -> (f64, Scaling) {
    match read_str(json, &outer()).unwrap().frequencies {
        Frequencies::Formula { theta, scaling } => (theta.get(), scaling),
        other @ Frequencies::Explicit { .. } => panic!("{other:?}"),
    }
}

fn message(json: &str) -> String {
    read_str(json, &outer()).unwrap_err().to_string()
}

#[test]
fn no_object_is_the_default_type() {
    for json in ["null", "{}", r#"{"rope_type": "default"}"#, r#"{"type": "default", "factor": null}"#] {
        assert_eq!(formula(json), (10_000.0, Scaling::Default));
    }
}

#[test]
fn both_spellings_of_the_type_and_theta_inside_or_outside() {
    let factor = Real::new(4.0);
    for json in [
        r#"{"type": "linear", "factor": 4, "rope_theta": 5e5}"#,
        r#"{"rope_type": "linear", "factor": 4.0, "rope_theta": 500000, "type": "linear"}"#,
    ] {
        assert_eq!(formula(json), (500_000.0, Scaling::Linear { factor }));
    }
    assert_eq!(formula(r#"{"rope_type": "ntk", "factor": 4}"#), (10_000.0, Scaling::StaticNtk { factor }));
    let without = Outer { theta: None, ..outer() };
    assert_eq!(read_str("null", &without).unwrap_err().to_string(), "rope type `default` needs `rope_theta`");
}

#[test]
fn lengths_inside_go_before_lengths_outside() {
    let (_, scaling) =
        formula(r#"{"type": "dynamic", "factor": 2, "max_position_embeddings": 2048, "seq_len": 9000}"#);
    assert_eq!(
        scaling,
        Scaling::DynamicNtk { factor: Real::new(2.0), max_position: 2048, seq_len: Some(9000) }
    );
    let (_, scaling) = formula(r#"{"type": "dynamic", "factor": 2}"#);
    assert_eq!(scaling, Scaling::DynamicNtk { factor: Real::new(2.0), max_position: 8192, seq_len: None });
}

#[test]
fn yarn_has_the_defaults_of_the_format() {
    let (_, scaling) =
        formula(r#"{"type": "yarn", "original_max_position_embeddings": 2048, "beta_fast": 0}"#);
    let expected = Yarn {
        factor: Real::new(4.0),
        original_max_position: 2048,
        attention_factor: None,
        beta_fast: Real::new(32.0),
        beta_slow: Real::new(1.0),
        mscale: None,
        mscale_all_dim: None,
        truncate: true,
    };
    assert_eq!(scaling, Scaling::Yarn(expected));
}

#[test]
fn parameters_by_layer_need_a_layer() {
    let json = r#"{"full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1e6},
                   "sliding_attention": {"rope_type": "default"}, "nope_attention": null}"#;
    let of = |layer_type| read_str(json, &Outer { layer_type, ..outer() });
    assert_eq!(
        of(Some("full_attention")).unwrap().frequencies,
        Frequencies::Formula { theta: Real::new(1e6), scaling: Scaling::Linear { factor: Real::new(8.0) } }
    );
    assert_eq!(
        of(Some("sliding_attention")).unwrap().frequencies,
        Frequencies::Formula { theta: Real::new(1e4), scaling: Scaling::Default }
    );
    assert_eq!(of(Some("nope_attention")), Err(ConfigError::NotRotated("nope_attention".to_owned())));
    let known = "full_attention, sliding_attention, nope_attention";
    let mut names: Vec<_> = known.split(", ").collect();
    names.sort_unstable();
    let message = of(None).unwrap_err().to_string();
    assert!(
        message.starts_with("the rotary parameters differ by layer: no type is not one of "),
        "{message}"
    );
    assert!(names.iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn partial_widths_and_the_proportional_form() {
    let partial = read_str(r#"{"partial_rotary_factor": 0.4}"#, &Outer { head_dim: 80, ..outer() }).unwrap();
    assert_eq!(partial.rotary_dim, 32);
    let proportional = r#"{"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}"#;
    let proportional = read_str(proportional, &Outer { head_dim: 512, ..outer() }).unwrap();
    assert_eq!(proportional.rotary_dim, 512);
    let table = proportional.frequencies.table(512).unwrap();
    assert_eq!(table.pairs().iter().filter(|pair| pair.hf_f32() != 0.0).count(), 64);
    assert_eq!(table.pairs()[64].f32(), 0.0);

    let given = Outer { rotary_dim: Some(64), ..outer() };
    assert_eq!(read_str("null", &given).unwrap().rotary_dim, 64);
    assert_eq!(
        read_str(r#"{"partial_rotary_factor": 0.25}"#, &given).unwrap_err().to_string(),
        "a rotary width of 64 and a partial_rotary_factor that gives 32 contradict each other"
    );
    let wide = Outer { rotary_dim: Some(256), ..outer() };
    assert_eq!(
        read_str("null", &wide).unwrap_err().to_string(),
        "a rotary width of 256 and a head of 128 contradict each other"
    );
    assert_eq!(
        message(r#"{"partial_rotary_factor": 1.5}"#),
        "partial_rotary_factor is 1.5, which is not from 0 to 1"
    );
    assert_eq!(
        read_str(r#"{"partial_rotary_factor": 0.5}"#, &Outer { head_dim: 10, ..outer() })
            .unwrap_err()
            .to_string(),
        "rotary width 5 is not an even number from 2 to 4096"
    );
}

#[test]
fn sections_become_axes() {
    let contiguous = read_str(r#"{"type": "mrope", "mrope_section": [16, 24, 24]}"#, &outer()).unwrap();
    assert_eq!(contiguous.axes.unwrap().axes()[15..17], [0, 1]);
    let json = r#"{"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": true}"#;
    assert_eq!(read_str(json, &outer()).unwrap().axes.unwrap().axes()[..3], [0, 1, 2]);
    assert_eq!(
        message(r#"{"mrope_section": [16, 24, 23]}"#),
        "the sections cover 63 pairs, but a rotary width of 128 has 64"
    );
    assert_eq!(message(r#"{"mrope_interleaved": true}"#), "rope type `default` needs `mrope_section`");
    assert_eq!(
        message(r#"{"mrope_section": [16.5]}"#),
        "`mrope_section` is [16.5], not a list of whole numbers"
    );
}

#[test]
fn explicit_lists_keep_their_bits() {
    let explicit =
        |json: &str| read_str(json, &Outer { head_dim: 4, ..Outer::default() }).unwrap().frequencies;
    assert_eq!(
        explicit(
            r#"{"rope_type": "explicit", "inv_freq": [1.0, 0.1], "dtype": "f32", "attention_factor": 1.5}"#
        ),
        Frequencies::Explicit {
            list: FrequencyList::F32(vec![0x3f80_0000, 0x3dcc_cccd]),
            attention_factor: Real::new(1.5)
        }
    );
    assert_eq!(
        explicit(r#"{"rope_type": "explicit", "inv_freq": [1, 0.1]}"#),
        Frequencies::Explicit {
            list: FrequencyList::F64(vec![Real::new(1.0), Real::new(0.1)]),
            attention_factor: Real::new(1.0)
        }
    );
}

#[test]
fn what_is_unknown_is_named() {
    assert_eq!(
        message(r#"{"rope_type": "yarm"}"#),
        "unknown rope type `yarm`; known are default, linear, dynamic, ntk, llama3, yarn, longrope, proportional, explicit"
    );
    let unknown = message(r#"{"type": "dynamic", "factor": 1, "alpha": 1000}"#);
    assert!(
        unknown.starts_with("rope type `dynamic` has no key `alpha`; its keys are rope_type, type,"),
        "{unknown}"
    );
    assert_eq!(
        message(r#"{"rope_type": "linear", "type": "yarn", "factor": 2}"#),
        "rope_type `linear` and type `yarn` contradict each other"
    );
    assert_eq!(message(r#"{"type": "linear"}"#), "rope type `linear` needs `factor`");
    assert_eq!(message(r#"{"type": "linear", "factor": "4"}"#), "`factor` is \"4\", not a number");
    assert_eq!(message(r#"{"type": 4}"#), "`type` is 4, not the name of a rope type");
    assert_eq!(message("[1]"), "the rotary parameters: [1] is not an object");
    assert!(message("{").starts_with("the rotary parameters are not json: "));
    assert_eq!(
        message(r#"{"type": "linear", "factor": -2}"#),
        "factor is -2.0, which is not a positive normal f32"
    );
}

#[test]
fn whole_configurations() {
    let read = |json: &str, layer| read_model(&serde_json::from_str(json).unwrap(), layer, None);
    let neox = read(
        r#"{"hidden_size": 2048, "num_attention_heads": 16, "rotary_pct": 0.25, "rotary_emb_base": 10000}"#,
        None,
    );
    assert_eq!(neox.unwrap().rotary_dim, 32);
    let gemma = r#"{"text_config": {"head_dim": 256, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                    "rope_scaling": {"rope_type": "linear", "factor": 8}}}"#;
    assert_eq!(
        read(gemma, Some("sliding_attention")).unwrap().frequencies,
        Frequencies::Formula { theta: Real::new(1e4), scaling: Scaling::Default }
    );
    assert_eq!(
        read(gemma, Some("full_attention")).unwrap().frequencies,
        Frequencies::Formula { theta: Real::new(1e6), scaling: Scaling::Linear { factor: Real::new(8.0) } }
    );
    let phi = r#"{"hidden_size": 8, "num_attention_heads": 2, "rope_theta": 1e4, "max_position_embeddings": 131072,
                  "original_max_position_embeddings": 4096,
                  "rope_scaling": {"type": "su", "short_factor": [1, 1], "long_factor": [2, 4]}}"#;
    let Frequencies::Formula { scaling: Scaling::LongRope(long), .. } = read(phi, None).unwrap().frequencies
    else {
        panic!("not longrope");
    };
    assert_eq!((long.factor.get(), long.original_max_position), (32.0, 4096));
    assert_eq!(
        read(r#"{"head_dim": 64}"#, None).unwrap_err().to_string(),
        "rope type `default` needs `rope_theta`"
    );
    assert_eq!(
        read(r#"{"hidden_size": 64}"#, None).unwrap_err().to_string(),
        "a model without head_dim needs `num_attention_heads`"
    );
    let two =
        r#"{"head_dim": 8, "rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"rope_theta": 1e5}}"#;
    assert_eq!(
        read(two, None).unwrap_err().to_string(),
        "rope_parameters and rope_scaling contradict each other"
    );
}
