"""Tiny, randomly initialised architectures beside those of make.py: (config class, model class, settings), and the inputs
that each takes. A release of transformers that has not all of them makes those that it has.
"""
import torch
import transformers as T

import make

SMALL, GQA, WIDE = make.SMALL, make.GQA, make.WIDE_HEADS
PAD = {"pad_token_id": 0}
OPT = dict(hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=make.VOCAB,
           max_position_embeddings=64, word_embed_proj_dim=32)
GPT = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=make.VOCAB, n_positions=64)
T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=make.VOCAB)
PIXELS = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
              patch_size=8)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=make.VOCAB, max_position_embeddings=64, pad_token_id=1)
EXPERTS = dict(GQA, num_experts=4, moe_intermediate_size=16)
LATENT = dict(SMALL, num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1,
              num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=16,
              qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16)
DISENTANGLED = dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"])
WAVES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_feat_extract_layers=2,
             conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2), num_conv_pos_embeddings=16,
             num_conv_pos_embedding_groups=2, vocab_size=make.VOCAB)
MORE = {
    "albert": ("AlbertConfig", "AlbertModel", dict(SMALL, embedding_size=32)),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", PIXELS),
    "cohere": ("CohereConfig", "CohereForCausalLM", {**GQA, **PAD}),
    "deit": ("DeiTConfig", "DeiTModel", PIXELS),
    "dinov2": ("Dinov2Config", "Dinov2Model", {k: v for k, v in PIXELS.items() if k != "intermediate_size"}),
    "electra": ("ElectraConfig", "ElectraModel", dict(SMALL, embedding_size=32)),
    "ernie4_5": ("Ernie4_5Config", "Ernie4_5ForCausalLM", GQA),
    "falcon": ("FalconConfig", "FalconForCausalLM", SMALL),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", WIDE),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", WIDE),
    "glm": ("GlmConfig", "GlmForCausalLM", {**WIDE, **PAD}),
    "gptj": ("GPTJConfig", "GPTJForCausalLM", dict(GPT, rotary_dim=8)),
    "granite": ("GraniteConfig", "GraniteForCausalLM", GQA),
    "llama (biases)": ("LlamaConfig", "LlamaForCausalLM", dict(GQA, attention_bias=True, mlp_bias=True)),
    "mamba": ("MambaConfig", "MambaForCausalLM",
              dict(hidden_size=32, num_hidden_layers=2, vocab_size=make.VOCAB, state_size=8)),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", dict(GQA, num_local_experts=4)),
    "modernbert": ("ModernBertConfig", "ModernBertModel",
                   dict(SMALL, pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2)),
    "mpnet": ("MPNetConfig", "MPNetModel", dict(SMALL, max_position_embeddings=66)),
    "nemotron": ("NemotronConfig", "NemotronForCausalLM", GQA),
    "olmo": ("OlmoConfig", "OlmoForCausalLM", GQA),
    "olmo2": ("Olmo2Config", "Olmo2ForCausalLM", GQA),
    "opt": ("OPTConfig", "OPTForCausalLM", OPT),
    "persimmon": ("PersimmonConfig", "PersimmonForCausalLM", SMALL),
    "phi": ("PhiConfig", "PhiForCausalLM", SMALL),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**GQA, **PAD}),
    "qwen2_moe": ("Qwen2MoeConfig", "Qwen2MoeForCausalLM", dict(EXPERTS, shared_expert_intermediate_size=16)),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", dict(EXPERTS, head_dim=16, num_experts_per_tok=2)),
    "roberta": ("RobertaConfig", "RobertaModel", dict(SMALL, max_position_embeddings=66)),
    "siglip_vision": ("SiglipVisionConfig", "SiglipVisionModel", PIXELS),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", {**GQA, **PAD}),
    "stablelm": ("StableLmConfig", "StableLmForCausalLM", GQA),
    "starcoder2": ("Starcoder2Config", "Starcoder2ForCausalLM", GQA),
    "t5 encoder": ("T5Config", "T5EncoderModel", T5),
    "t5 encoder (gated)": ("T5Config", "T5EncoderModel", dict(T5, feed_forward_proj="gated-gelu")),
    "apertus": ("ApertusConfig", "ApertusForCausalLM", {**GQA, **PAD}),
    "arcee": ("ArceeConfig", "ArceeForCausalLM", GQA),
    "bart": ("BartConfig", "BartModel", BART),
    "beit": ("BeitConfig", "BeitModel", dict(PIXELS, use_relative_position_bias=True)),
    "biogpt": ("BioGptConfig", "BioGptForCausalLM", SMALL),
    "codegen": ("CodeGenConfig", "CodeGenForCausalLM", dict(GPT, rotary_dim=4, n_ctx=64)),
    "cohere2": ("Cohere2Config", "Cohere2ForCausalLM", {**WIDE, **PAD}),
    "convnext": ("ConvNextConfig", "ConvNextModel", dict(image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)),
    "deberta": ("DebertaConfig", "DebertaModel", DISENTANGLED),
    "deberta_v2": ("DebertaV2Config", "DebertaV2Model", dict(DISENTANGLED, position_buckets=8)),
    "deepseek_v3": ("DeepseekV3Config", "DeepseekV3ForCausalLM", LATENT),
    "diffllama": ("DiffLlamaConfig", "DiffLlamaForCausalLM", GQA),
    "esm": ("EsmConfig", "EsmModel", dict(SMALL, max_position_embeddings=66, pad_token_id=1, mask_token_id=2,
                                       position_embedding_type="rotary")),
    "exaone4": ("Exaone4Config", "Exaone4ForCausalLM", dict(GQA, layer_types=["sliding_attention", "full_attention"])),
    "glm4": ("Glm4Config", "Glm4ForCausalLM", {**WIDE, **PAD}),
    "gpt_bigcode": ("GPTBigCodeConfig", "GPTBigCodeForCausalLM", GPT),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM",
                dict(hidden_size=32, num_layers=2, num_heads=4, vocab_size=make.VOCAB, max_position_embeddings=64,
                     attention_types=[[["global", "local"], 1]])),
    "gpt_oss": ("GptOssConfig", "GptOssForCausalLM", {**WIDE, **PAD, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "granitemoe": ("GraniteMoeConfig", "GraniteMoeForCausalLM", dict(GQA, num_local_experts=4, num_experts_per_tok=2)),
    "helium": ("HeliumConfig", "HeliumForCausalLM", {**GQA, **PAD, "head_dim": 8}),
    "hunyuan": ("HunYuanDenseV1Config", "HunYuanDenseV1ForCausalLM", {**WIDE, **PAD}),
    "jamba": ("JambaConfig", "JambaForCausalLM",
              dict(GQA, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1, num_experts=2,
                   use_mamba_kernels=False, mamba_d_state=8, pad_token_id=0)),
    "lfm2": ("Lfm2Config", "Lfm2ForCausalLM", dict(GQA, layer_types=["conv", "full_attention"], block_multiple_of=8)),
    "mpt": ("MptConfig", "MptForCausalLM", dict(d_model=32, n_heads=4, n_layers=2, vocab_size=make.VOCAB, max_seq_len=64)),
    "olmo3": ("Olmo3Config", "Olmo3ForCausalLM", {**GQA, **PAD}),
    "phimoe": ("PhimoeConfig", "PhimoeForCausalLM", dict(GQA, num_local_experts=4)),
    "seed_oss": ("SeedOssConfig", "SeedOssForCausalLM", {**WIDE, **PAD}),
    "swin": ("SwinConfig", "SwinModel",
             dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)),
    "xglm": ("XGLMConfig", "XGLMForCausalLM",
             dict(d_model=32, ffn_dim=64, num_layers=2, attention_heads=4, vocab_size=make.VOCAB, max_position_embeddings=64)),
    "xlm_roberta": ("XLMRobertaConfig", "XLMRobertaModel", dict(SMALL, max_position_embeddings=66)),
    "audio_spectrogram": ("ASTConfig", "ASTModel", dict(PIXELS, max_length=64, num_mel_bins=16, frequency_stride=8, time_stride=8)),
    "camembert": ("CamembertConfig", "CamembertModel", dict(SMALL, max_position_embeddings=66)),
    "convnextv2": ("ConvNextV2Config", "ConvNextV2Model", dict(image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)),
    "data2vec_audio": ("Data2VecAudioConfig", "Data2VecAudioModel", WAVES),
    "deepseek_v2": ("DeepseekV2Config", "DeepseekV2ForCausalLM", dict(LATENT, topk_method="greedy")),
    "dinov3_vit": ("DINOv3ViTConfig", "DINOv3ViTModel", PIXELS),
    "falcon_mamba": ("FalconMambaConfig", "FalconMambaForCausalLM",
                     dict(hidden_size=32, num_hidden_layers=2, vocab_size=make.VOCAB, state_size=8)),
    "hubert": ("HubertConfig", "HubertModel", WAVES),
    "hubert (stable)": ("HubertConfig", "HubertModel", dict(WAVES, do_stable_layer_norm=True, feat_extract_norm="layer")),
    "llama4": ("Llama4TextConfig", "Llama4ForCausalLM",
               {**GQA, **PAD, "intermediate_size_mlp": 64, "num_local_experts": 2, "interleave_moe_layer_step": 2, "head_dim": 8}),
    "mamba2": ("Mamba2Config", "Mamba2ForCausalLM",
               dict(hidden_size=32, num_hidden_layers=2, vocab_size=make.VOCAB, state_size=8, num_heads=8, head_dim=8, n_groups=2,
                    chunk_size=4)),
    "marian": ("MarianConfig", "MarianModel", dict(BART, pad_token_id=0, decoder_start_token_id=0)),
    "mbart": ("MBartConfig", "MBartModel", BART),
    "nystromformer": ("NystromformerConfig", "NystromformerModel", dict(SMALL, num_landmarks=4, segment_means_seq_len=8)),
    "olmoe": ("OlmoeConfig", "OlmoeForCausalLM", {**GQA, **PAD, "num_experts": 4, "num_experts_per_tok": 2}),
    "pegasus": ("PegasusConfig", "PegasusModel", dict(BART, pad_token_id=0)),
    "poolformer": ("PoolFormerConfig", "PoolFormerModel",
                   dict(image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_encoder_blocks=2, patch_sizes=[7, 3],
                        strides=[4, 2], padding=[2, 1])),
    "rwkv": ("RwkvConfig", "RwkvForCausalLM",
             dict(hidden_size=32, attention_hidden_size=32, num_hidden_layers=2, vocab_size=make.VOCAB, context_length=64)),
    "t5": ("T5Config", "T5Model", T5),
    "vit_msn": ("ViTMSNConfig", "ViTMSNModel", PIXELS),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", WAVES),
    "wav2vec2 (stable)": ("Wav2Vec2Config", "Wav2Vec2Model", dict(WAVES, do_stable_layer_norm=True, feat_extract_norm="layer")),
    "wavlm": ("WavLMConfig", "WavLMModel", WAVES),
    "whisper": ("WhisperConfig", "WhisperModel", dict(BART, num_mel_bins=16, max_source_positions=32, max_target_positions=64)),
    "xlm": ("XLMConfig", "XLMModel", dict(emb_dim=32, n_layers=2, n_heads=4, vocab_size=make.VOCAB, max_position_embeddings=64)),
    "ctrl": ("CTRLConfig", "CTRLLMHeadModel",
             dict(n_embd=32, n_layer=2, n_head=4, vocab_size=make.VOCAB, n_positions=64, dff=64)),
    "longformer": ("LongformerConfig", "LongformerModel",
                   dict(SMALL, attention_window=[4, 4], max_position_embeddings=66)),
    "fnet": ("FNetConfig", "FNetModel", SMALL),
    "flaubert": ("FlaubertConfig", "FlaubertModel", dict(emb_dim=32, n_layers=2, n_heads=4, vocab_size=make.VOCAB)),
    "ibert": ("IBertConfig", "IBertModel", dict(SMALL, max_position_embeddings=66)),
    "megatron_bert": ("MegatronBertConfig", "MegatronBertModel", SMALL),
    "mobilebert": ("MobileBertConfig", "MobileBertModel", dict(SMALL, intra_bottleneck_size=16, embedding_size=16)),
    "luke": ("LukeConfig", "LukeModel",
             dict(SMALL, entity_vocab_size=10, entity_emb_size=16, max_position_embeddings=66)),
    "rembert": ("RemBertConfig", "RemBertModel", dict(SMALL, input_embedding_size=16)),
    "roformer": ("RoFormerConfig", "RoFormerModel", dict(SMALL, embedding_size=32)),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertModel", dict(SMALL, embedding_size=32)),
    "convbert": ("ConvBertConfig", "ConvBertModel", SMALL),
    "big_bird": ("BigBirdConfig", "BigBirdModel", dict(SMALL, attention_type="original_full")),
    "ernie": ("ErnieConfig", "ErnieModel", SMALL),
    "layoutlm": ("LayoutLMConfig", "LayoutLMModel", SMALL),
    "bitnet": ("BitNetConfig", "BitNetForCausalLM", {**GQA, **PAD}),
    "doge": ("DogeConfig", "DogeForCausalLM", {**GQA, **PAD}),
    "bamba": ("BambaConfig", "BambaForCausalLM",
              {**GQA, **PAD, "mamba_d_state": 8, "mamba_n_heads": 8, "mamba_d_head": 8, "attn_layer_indices": [1],
               "mamba_chunk_size": 4}),
    "granitemoeshared": ("GraniteMoeSharedConfig", "GraniteMoeSharedForCausalLM",
                         {**GQA, **PAD, "num_local_experts": 4, "num_experts_per_tok": 2,
                          "shared_intermediate_size": 32}),
    "nemotron_h": ("NemotronHConfig", "NemotronHForCausalLM", {**GQA, **PAD}),
    "minimax": ("MiniMaxConfig", "MiniMaxForCausalLM",
                {**GQA, **PAD, "num_local_experts": 2, "layer_types": ["full_attention", "linear_attention"]}),
    "qwen3_next": ("Qwen3NextConfig", "Qwen3NextForCausalLM",
                   {**EXPERTS, **PAD, "head_dim": 16, "shared_expert_intermediate_size": 16, "num_experts_per_tok": 2,
                    "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
                    "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8}),
    "ernie4_5_moe": ("Ernie4_5_MoeConfig", "Ernie4_5_MoeForCausalLM",
                     {**GQA, **PAD, "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 16,
                      "moe_layer_start_index": 1}),
    "dots1": ("Dots1Config", "Dots1ForCausalLM",
              {**GQA, **PAD, "moe_intermediate_size": 16, "n_routed_experts": 4, "n_shared_experts": 1,
               "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1}),
    "glm4_moe": ("Glm4MoeConfig", "Glm4MoeForCausalLM",
                 {**GQA, **PAD, "head_dim": 16, "moe_intermediate_size": 16, "n_routed_experts": 4,
                  "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
                  "first_k_dense_replace": 1}),
    "hunyuan_moe": ("HunYuanMoEV1Config", "HunYuanMoEV1ForCausalLM",
                    {**WIDE, **PAD, "num_experts": 2, "moe_topk": 1}),
    "vaultgemma": ("VaultGemmaConfig", "VaultGemmaForCausalLM", {**WIDE, **PAD}),
    "ministral": ("MinistralConfig", "MinistralForCausalLM", {**WIDE, **PAD}),
    "flex_olmo": ("FlexOlmoConfig", "FlexOlmoForCausalLM",
                  {**GQA, **PAD, "num_experts": 4, "num_experts_per_tok": 2}),
    "jetmoe": ("JetMoeConfig", "JetMoeForCausalLM",
               {**GQA, **PAD, "num_local_experts": 4, "num_experts_per_tok": 2, "kv_channels": 8}),
    "gpt_neox_japanese": ("GPTNeoXJapaneseConfig", "GPTNeoXJapaneseForCausalLM", SMALL),
    "openai_gpt": ("OpenAIGPTConfig", "OpenAIGPTLMHeadModel", GPT),
    "blenderbot": ("BlenderbotConfig", "BlenderbotModel", dict(BART, pad_token_id=0)),
    "plbart": ("PLBartConfig", "PLBartModel", BART),
    "led": ("LEDConfig", "LEDModel", dict(BART, attention_window=4)),
    "m2m_100": ("M2M100Config", "M2M100Model", BART),
    "nllb_moe": ("NllbMoeConfig", "NllbMoeModel",
                 dict(BART, num_experts=2, encoder_sparse_step=2, decoder_sparse_step=2)),
    "umt5": ("UMT5Config", "UMT5Model", T5),
    "mt5 encoder": ("MT5Config", "MT5EncoderModel", T5),
    "longt5": ("LongT5Config", "LongT5Model", dict(T5, local_radius=3)),
    "switch_transformers": ("SwitchTransformersConfig", "SwitchTransformersModel", dict(T5, num_experts=2)),
    "segformer": ("SegformerConfig", "SegformerModel",
                  dict(hidden_sizes=[16, 32], depths=[1, 1], num_encoder_blocks=2, num_attention_heads=[1, 2],
                   sr_ratios=[2, 1], patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], decoder_hidden_size=16)),
    "pvt_v2": ("PvtV2Config", "PvtV2Model",
               dict(image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_encoder_blocks=2, num_attention_heads=[1, 2],
                sr_ratios=[2, 1], patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2])),
    "yolos": ("YolosConfig", "YolosModel", dict(PIXELS, image_size=[32, 32], num_detection_tokens=4)),
    "mobilenet_v2": ("MobileNetV2Config", "MobileNetV2Model", dict(image_size=32, depth_multiplier=0.35)),
    "mobilevit": ("MobileViTConfig", "MobileViTModel", dict(image_size=32)),
    "resnet": ("ResNetConfig", "ResNetModel", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])),
    "focalnet": ("FocalNetConfig", "FocalNetModel",
                 dict(image_size=32, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2],
                  focal_windows=[3, 3])),
    "hiera": ("HieraConfig", "HieraModel",
              dict(image_size=[32, 32], embed_dim=16, num_heads=[1, 2], depths=[1, 1], masked_unit_size=[4, 4],
               query_stride=[2, 2], num_query_pool=1, patch_size=[3, 3], patch_stride=[2, 2], patch_padding=[1, 1])),
    "ijepa": ("IJepaConfig", "IJepaModel", PIXELS),
    "swinv2": ("Swinv2Config", "Swinv2Model",
               dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)),
    "swiftformer": ("SwiftFormerConfig", "SwiftFormerModel", dict(image_size=32, depths=[1, 1], embed_dims=[16, 32])),
    "dinov2 (registers)": ("Dinov2WithRegistersConfig", "Dinov2WithRegistersModel",
                           {k: v for k, v in PIXELS.items() if k != "intermediate_size"}),
    "siglip_text": ("SiglipTextConfig", "SiglipTextModel", dict(SMALL, max_position_embeddings=66)),
    "clip_text": ("CLIPTextConfig", "CLIPTextModel", dict(SMALL, eos_token_id=99)),
    "aimv2_vision": ("Aimv2VisionConfig", "Aimv2VisionModel", PIXELS),
    "internvl_vision": ("InternVLVisionConfig", "InternVLVisionModel",
                        dict(PIXELS, image_size=[32, 32], patch_size=[8, 8])),
    "pixtral_vision": ("PixtralVisionConfig", "PixtralVisionModel", dict(PIXELS, num_channels=3)),
    "blip_vision": ("BlipVisionConfig", "BlipVisionModel", PIXELS),
    "data2vec_vision": ("Data2VecVisionConfig", "Data2VecVisionModel", dict(PIXELS, use_relative_position_bias=True)),
    "data2vec_text": ("Data2VecTextConfig", "Data2VecTextModel", dict(SMALL, max_position_embeddings=66)),
    "unispeech": ("UniSpeechConfig", "UniSpeechModel", WAVES),
    "sew": ("SEWConfig", "SEWModel", dict(WAVES, squeeze_factor=2)),
    "wav2vec2_conformer": ("Wav2Vec2ConformerConfig", "Wav2Vec2ConformerModel", WAVES),
    "xmod": ("XmodConfig", "XmodModel",
             dict(SMALL, languages=["en_XX"], default_language="en_XX", max_position_embeddings=66)),
    "xlnet": ("XLNetConfig", "XLNetModel", dict(d_model=32, n_layer=2, n_head=4, d_inner=64, vocab_size=make.VOCAB)),
    "funnel": ("FunnelConfig", "FunnelModel",
               dict(vocab_size=make.VOCAB, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=64)),
    "nomic_bert": ("NomicBertConfig", "NomicBertModel", SMALL),
    "eurobert": ("EuroBertConfig", "EuroBertModel", {**GQA, **PAD}),
    "jina_embeddings_v3": ("JinaEmbeddingsV3Config", "JinaEmbeddingsV3Model", SMALL),
    "xlstm": ("xLSTMConfig", "xLSTMForCausalLM",
              dict(hidden_size=32, num_hidden_layers=2, num_heads=4, vocab_size=make.VOCAB)),
    "cwm": ("CwmConfig", "CwmForCausalLM", {**GQA, **PAD}),
    "afmoe": ("AfmoeConfig", "AfmoeForCausalLM",
              {**GQA, **PAD, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
               "num_dense_layers": 1}),
    "lfm2_moe": ("Lfm2MoeConfig", "Lfm2MoeForCausalLM",
                 {**GQA, **PAD, "layer_types": ["conv", "full_attention"], "num_experts": 4, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 16, "num_dense_layers": 1}),
    "minimax_m2": ("MiniMaxM2Config", "MiniMaxM2ForCausalLM",
                   {**GQA, **PAD, "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8}),
    "youtu": ("YoutuConfig", "YoutuForCausalLM", {**LATENT, **PAD}),
    "solar_open": ("SolarOpenConfig", "SolarOpenForCausalLM",
                   {**GQA, **PAD, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}),
    "exaone_moe": ("ExaoneMoeConfig", "ExaoneMoeForCausalLM",
                   {**GQA, **PAD, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}),
}


def known():
    """All that this release of transformers has."""
    more = {name: (getattr(T, config), model, settings) for name, (config, model, settings) in MORE.items()
            if hasattr(T, config) and hasattr(T, model)}
    return make.ARCHITECTURES | more


class MainOutput(torch.nn.Module):
    """A model's main output for its one input: ids, pixels, a wave, or a spectrogram."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.input = model.main_input_name
        self.given = {}
        if "use_cache" in model.config.to_dict():
            self.given["use_cache"] = False
        self.decoder = model.config.is_encoder_decoder and "decoder_input_ids"
        # The masks of transformers 4 cannot be traced; one of four dimensions is taken as it is.
        self.masked = T.__version__.startswith("4.") and model.can_generate() and not self.decoder
        self.masked = self.masked and "num_attention_heads" in model.config.to_dict()

    def forward(self, x):
        given = dict(self.given)
        if self.decoder:  # the ids themselves, or some
            given[self.decoder] = x if x.dtype == torch.int64 else torch.arange(1, 7).expand(x.size(0), 6)
        if self.masked:
            dtype = self.model.dtype
            mask = torch.full((x.size(1), x.size(1)), torch.finfo(dtype).min, dtype=dtype).triu(1)
            given["attention_mask"] = mask.expand(x.size(0), 1, x.size(1), x.size(1))
        out = self.model(**{self.input: x}, **given)
        return out.logits if "logits" in out else out.last_hidden_state


def input_of(model, settings, dtype):
    if model.main_input_name == "pixel_values":
        return torch.rand(2, 3, 32, 32).to(dtype)
    if model.main_input_name == "input_features":
        return torch.rand(2, 16, 64).to(dtype)
    if model.main_input_name == "input_values":
        return torch.rand(2, 64, 16).to(dtype) if "num_mel_bins" in settings else torch.rand(2, 400).to(dtype)
    return torch.randint(1, make.VOCAB, (2, 8))


def trace(name, dtype):
    config_class, model_class, settings = known()[name]
    torch.manual_seed(0)
    config = config_class(**settings)
    config._attn_implementation = "eager"
    model = getattr(T, model_class)(config).eval().to(dtype)
    make.randomise_vectors(model)
    x = input_of(model, settings, dtype)
    module = MainOutput(model)
    with torch.no_grad():
        traced = torch.jit.trace(module, (x,), check_trace=False)
        if not torch.equal(traced(x), module(x)):
            raise RuntimeError(f"{name}: the trace does not compute what the model computes")
    return traced, x
