//! Small configurations of each family.

use super::*;

const LLAMA: &str = r#"{
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "torch_dtype": "bfloat16", "head_dim": null
}"#;
const QWEN3: &str = r#"{
    "model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-06, "dtype": "float16",
    "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}
}"#;
const GEMMA3: &str = r#"{
    "model_type": "gemma3", "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152},
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}
    }
}"#;

fn parse(text: &str) -> ModelConfig {
    ModelConfig::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    ModelConfig::parse(text).expect_err("it is not usable").to_string()
}

#[test]
fn llama_has_one_norm_value_and_a_rotation() {
    let config = parse(LLAMA);
    assert_eq!((config.head_dim, config.kv_heads, config.dtype), (128, 8, Dtype::Bf16));
    let launches = config.launches();
    assert_eq!(launches.len(), 2);
    let Needed::RmsNorm(norm) = &launches[0].kernel else { panic!("{launches:?}") };
    assert_eq!((norm.spec.hidden, norm.spec.eps.get(), norm.spec.x), (4096, 1e-5, Dtype::Bf16));
    assert_eq!((launches[0].launches, launches[0].uses.len()), (65, 3));
    assert_eq!(config.rms_norms(), std::slice::from_ref(norm));
    assert_eq!(
        config.missing()[0].to_string(),
        "there is no kernel for rotary position embedding \
         (head_dim 128, theta 500000, scaling llama3, bf16, all layers)"
    );
}

#[test]
fn mistral_and_qwen2_launch_what_llama_does() {
    for family in ["mistral", "qwen2"] {
        let config = parse(&LLAMA.replace("\"llama\"", &format!("\"{family}\"")));
        assert_eq!(config.family.model_type(), family);
        assert_eq!(config.launches(), parse(LLAMA).launches());
    }
}

#[test]
fn qwen3_normalizes_heads() {
    let config = parse(QWEN3);
    let hidden: Vec<u32> = config.rms_norms().iter().map(|norm| norm.spec.hidden).collect();
    assert_eq!(hidden, [2560, 128]);
    assert_eq!(config.launches()[1].uses, ["self_attn.q_norm", "self_attn.k_norm"]);
    assert_eq!(config.ropes, [Rope { theta: 1e6, scaling: None, layers: "all layers" }]);
    assert_eq!(config.with_dtype(Dtype::F32).rms_norms()[0].spec.w, Dtype::F32);
}

#[test]
fn gemma3_needs_what_does_not_exist_and_says_so() {
    let config = parse(GEMMA3);
    assert_eq!((config.family, config.dtype, config.hidden), (Family::Gemma3, Dtype::Bf16, 2560));
    assert!(config.rms_norms().is_empty());
    let missing = config.missing();
    let kinds: Vec<&str> = missing.iter().map(|missing| missing.kernel).collect();
    let (norm, rope) = ("RMSNorm with 1 added to the weight", "rotary position embedding");
    assert_eq!(kinds, [norm, norm, rope, rope]);
    assert!(missing[2].spec.contains("theta 1000000, scaling linear"), "{}", missing[2]);
    assert!(missing[3].spec.contains("theta 10000, bf16, layers of sliding"), "{}", missing[3]);
    let new = GEMMA3.replace("\"rope_theta\": 1000000.0,\n        \"rope_local_base_freq\": 10000.0, \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": \"linear\"}", "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1000000.0, \"rope_type\": \"linear\"}, \"sliding_attention\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}}");
    assert_ne!(new, GEMMA3);
    assert_eq!(parse(&new), config);
}

#[test]
fn every_model_kernel_builds() {
    let target = ptxsmith_builder::target::Target::sm(90).expect("a known target");
    for config in [LLAMA, QWEN3] {
        for norm in parse(config).rms_norms() {
            assert!(ptxsmith_builder::kernel::AnyKernel::operation(&norm, target).is_ok(), "{norm:?}");
        }
    }
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for key in [
        "model_type",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "rms_norm_eps",
        "rope_theta",
        "torch_dtype",
    ] {
        let text = LLAMA.replace(&format!("\"{key}\""), "\"other\"");
        assert_eq!(refused(&text), format!("the configuration has no `{key}`"));
    }
    assert_eq!(
        refused(&QWEN3.replace("\"head_dim\": 128", "\"head_dim\": null")),
        "the configuration has no `head_dim`"
    );
    assert_eq!(
        refused(&LLAMA.replace("4096", "0")),
        "`hidden_size` of the configuration is 0, it must be an integer from 1 to 262144"
    );
    assert!(refused(&LLAMA.replace("4096", "4097")).contains("a multiple of num_attention_heads = 32"));
    assert!(refused(&LLAMA.replace("1e-05", "-1")).starts_with("`rms_norm_eps` of the configuration is -1,"));
    assert!(refused(&LLAMA.replace("500000.0", "\"x\"")).contains("a finite number above 0"));
    assert!(refused(&LLAMA.replace("bfloat16", "int8")).contains("one of float32, float16, bfloat16"));
    assert!(
        refused(&LLAMA.replace("\"llama\"", "\"bert\""))
            .contains("\"bert\", it must be one of gemma3, llama")
    );
    assert!(refused("[]").ends_with("it is not an object") && refused("{").contains("cannot be read"));
    assert!(refused(r#"{"text_config": 1}"#).contains("`text_config`"));
}
