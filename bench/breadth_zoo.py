# SPDX-License-Identifier: Apache-2.0
"""Cases of breadth.py from torchvision, timm and transformers: the smallest
variant of each family, with random weights and small inputs."""
import torch
from torch import nn

BOTH = ("script", "trace")


def vision():
    def net(name, size=64, batch=1, hows=BOTH, **options):
        def make():
            import torchvision
            from torchvision.models import segmentation
            place = (torchvision.models if hasattr(torchvision.models, name)
                     else segmentation)
            options.setdefault("weights", None)
            if place is segmentation:
                options.setdefault("weights_backbone", None)
            return (getattr(place, name)(**options),
                    torch.randn(batch, 3, size, size))
        return make, hows

    rows = [("densenet121", {}), ("googlenet", {"init_weights": False}),
            ("inception_v3", {"size": 128, "init_weights": False}),
            ("mnasnet0_5", {}), ("shufflenet_v2_x0_5", {}),
            ("regnet_x_400mf", {}), ("regnet_y_400mf", {}),
            ("resnext50_32x4d", {}), ("wide_resnet50_2", {}),
            ("convnext_tiny", {}), ("efficientnet_v2_s", {}),
            ("maxvit_t", {"size": 224}), ("swin_t", {}), ("swin_v2_t", {}),
            ("vgg11_bn", {}), ("mobilenet_v3_small", {"batch": 2}),
            ("squeezenet1_0", {}), ("resnet34", {}), ("efficientnet_b1", {}),
            ("fcn_resnet50", {}), ("deeplabv3_mobilenet_v3_large", {}),
            ("lraspp_mobilenet_v3_large", {})]
    cases = [(name, *net(name, **more)) for name, more in rows]

    def video(name, frames=8, size=32):
        def make():
            from torchvision.models import video as place
            return (getattr(place, name)(weights=None),
                    torch.randn(1, 3, frames, size, size))
        return make, BOTH

    def flow():
        from torchvision.models.optical_flow import raft_small
        return (raft_small(weights=None),
                (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)))

    for name, more in (("r3d_18", {}), ("mc3_18", {}), ("r2plus1d_18", {}),
                       ("s3d", {"frames": 14, "size": 224}),
                       ("swin3d_t", {})):
        cases.append((name, *video(name, **more)))
    cases.append(("raft_small", flow, ("trace",)))
    cases.append(("googlenet_noaux", *net("googlenet", aux_logits=False,
                                          init_weights=False)))
    cases.append(("fcn_resnet50_aux", *net("fcn_resnet50", aux_loss=True)))
    cases.append(("deeplabv3_resnet50", *net("deeplabv3_resnet50",
                                             hows=("script",))))
    cases.append(("mobilenet_v2_frozen", *net("mobilenet_v2",
                                              hows=("freeze",))))
    cases.append(("resnet18_frozen", *net("resnet18", hows=("freeze",))))
    cases.append(("swin_t_frozen", *net("swin_t", hows=("freeze",))))
    return cases


TIMM = """resnetv2_50x1_bit:64 resnetv2_50:64 mobilenetv4_conv_small:64
mobilenetv4_hybrid_medium:64 ghostnet_050:64 ghostnetv2_100:64
hrnet_w18_small:64 dla34:64
dla46x_c:64 res2net50_26w_4s:64 cspresnet50:64 cspdarknet53:64
mixer_s32_224:224 resmlp_12_224:224 gmlp_ti16_224:224 deit_tiny_patch16_224:224
deit_tiny_distilled_patch16_224:224 beit_base_patch16_224:224 pvt_v2_b0:64
poolformer_s12:64 levit_128s:224 convmixer_768_32:64 efficientformer_l1:224
efficientformerv2_s0:224 coat_lite_tiny:224 edgenext_xx_small:64
mobilevit_xxs:64 mobilevitv2_050:64 xcit_nano_12_p16_224:224 convnextv2_atto:64
tiny_vit_5m_224:224 swin_tiny_patch4_window7_224:224 fastvit_t8:64 repvgg_a0:64
nfnet_l0:64 eca_nfnet_l0:64 resnest14d:64 seresnet18:64 skresnet18:64
ecaresnet26t:64 gernet_s:64 lcnet_035:64 tinynet_e:64 rexnet_100:64
mnasnet_small:64 fbnetc_100:64 spnasnet_100:64 tf_efficientnet_lite0:64
tf_efficientnet_b0:64 tf_mobilenetv3_small_075:64 hardcorenas_a:64 vovnet39a:64
ese_vovnet19b_dw:64 regnetz_005:64 selecsls42b:64 darknet17:64 dpn48b:64
inception_resnet_v2:96 inception_v4:96 xception41:64 nasnetalarge:96
twins_pcpvt_small:64 twins_svt_small:64 visformer_tiny:224 volo_d1_224:224
cait_xxs24_224:224 crossvit_tiny_240:240 convit_tiny:224 pit_ti_224:224
tnt_s_patch16_224:224 tresnet_m:64 vit_tiny_patch16_224:224
vit_relpos_small_patch16_224:224 eva02_tiny_patch14_224:224 gcvit_xxtiny:224
maxvit_rmlp_pico_rw_256:256 coatnet_pico_rw_224:224 coatnet_nano_cc_224:224
halonet26t:256 botnet26t_256:256 lambda_resnet26t:256 lamhalobotnet50ts_256:256
sebotnet33ts_256:256 resnet10t:64 davit_tiny:64 focalnet_tiny_srf:64
inception_next_tiny:64 caformer_s18:64 convformer_s18:64
hiera_tiny_224:224 hgnetv2_b0:64 repvit_m1:64 mobileone_s0:64
starnet_s1:64 nextvit_small:64 sequencer2d_s:224 mambaout_femto:64
efficientvit_b0:64 efficientvit_m0:224 rdnet_tiny:64
swinv2_cr_tiny_224:224 swinv2_tiny_window8_256:256 bat_resnext26ts:256
gcresnext26ts:64 resnet26t:64 legacy_seresnet18:64 legacy_xception:64
shvit_s1:224 swiftformer_xs:224 tf_efficientnetv2_b0:64 vitamin_small_224:224
mvitv2_tiny:224 nest_tiny:224 nest_tiny_jx:224 cs3darknet_s:64
semnasnet_075:64 test_vit:160 test_resnet:64 test_convnext:64
test_efficientnet:64 test_byobnet:64 test_mambaout:64 test_nfnet:64"""


def timm_models():
    def net(name, size):
        def make():
            import timm
            model = timm.create_model(name, pretrained=False, num_classes=37)
            return model, torch.randn(1, 3, size, size)
        return make
    rows = [r.split(":") for r in TIMM.split() if ":" in r]
    return [(name, net(name, int(size)), BOTH) for name, size in rows]


class Plain(nn.Module):
    """A transformers model with positional tensors in and out."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *xs):
        named = dict(zip(self.names, xs))
        if "spectrogram" in named:  # a vocoder has no such option
            return self.model(**named)
        return self.model(**named, return_dict=False)


class Encoder(Plain):
    def __init__(self, model, names):
        super().__init__(model.get_encoder(), names)


def hugging_face():
    def ids(vocab=99, batch=2, length=12):
        return torch.randint(3, vocab, (batch, length))

    def mask(batch=2, length=12):
        m = torch.ones(batch, length, dtype=torch.int64)
        m[1, -4:] = 0
        return m

    small = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2,
                 num_attention_heads=4, intermediate_size=64)
    vit = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
               intermediate_size=64, image_size=32, patch_size=8)
    text = (("input_ids", ids), ("attention_mask", mask))
    only_ids = (("input_ids", ids),)

    def image(size=32, channels=3):
        return (("pixel_values", lambda: torch.randn(2, channels, size, size)),)

    wav = (("input_values", lambda: torch.randn(1, 3200)),)
    llama = dict(small, num_key_value_heads=2, max_position_embeddings=64,
                 use_cache=False)
    gpt = dict(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64,
               use_cache=False)
    table = [
        ("bert", "BertModel", "BertConfig", small, text),
        ("bert_mlm", "BertForMaskedLM", "BertConfig", small, text),
        ("bert_classify", "BertForSequenceClassification", "BertConfig", small,
         text),
        ("bert_qa", "BertForQuestionAnswering", "BertConfig", small, text),
        ("distilbert", "DistilBertModel", "DistilBertConfig",
         dict(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
         text),
        ("roberta", "RobertaModel", "RobertaConfig", small, text),
        ("xlm_roberta", "XLMRobertaForTokenClassification", "XLMRobertaConfig",
         small, text),
        ("albert", "AlbertModel", "AlbertConfig",
         dict(small, embedding_size=16), text),
        ("electra", "ElectraModel", "ElectraConfig",
         dict(small, embedding_size=16), text),
        ("mpnet", "MPNetModel", "MPNetConfig", small, text),
        ("deberta_v2", "DebertaV2Model", "DebertaV2Config",
         dict(small, relative_attention=True, pos_att_type=["p2c", "c2p"],
              position_buckets=8), text),
        ("camembert", "CamembertModel", "CamembertConfig", small, text),
        ("mobilebert", "MobileBertModel", "MobileBertConfig",
         dict(small, embedding_size=32, intra_bottleneck_size=16), text),
        ("squeezebert", "SqueezeBertModel", "SqueezeBertConfig",
         dict(small, embedding_size=32), text),
        ("convbert", "ConvBertModel", "ConvBertConfig",
         dict(small, embedding_size=32), text),
        ("funnel", "FunnelModel", "FunnelConfig",
         dict(vocab_size=99, d_model=32, n_head=4, d_head=8, d_inner=64,
              block_sizes=[1, 1]), text),
        ("fnet", "FNetModel", "FNetConfig", small, only_ids),
        ("modernbert", "ModernBertModel", "ModernBertConfig",
         dict(small, pad_token_id=0), text),
        ("gpt2", "GPT2Model", "GPT2Config", gpt, text),
        ("gpt2_lm", "GPT2LMHeadModel", "GPT2Config", gpt, only_ids),
        ("gpt_neo", "GPTNeoModel", "GPTNeoConfig",
         dict(vocab_size=99, hidden_size=32, num_layers=2, num_heads=4,
              attention_types=[[["global", "local"], 1]], use_cache=False,
              max_position_embeddings=64), text),
        ("gpt_neox", "GPTNeoXModel", "GPTNeoXConfig",
         dict(small, use_cache=False), text),
        ("opt", "OPTModel", "OPTConfig",
         dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, ffn_dim=64,
              num_attention_heads=4, word_embed_proj_dim=32, use_cache=False),
         text),
        ("bloom", "BloomModel", "BloomConfig",
         dict(vocab_size=99, hidden_size=32, n_layer=2, n_head=4,
              use_cache=False), text),
        ("t5_encoder", "T5EncoderModel", "T5Config",
         dict(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2,
              num_heads=4), text),
        ("llama", "LlamaModel", "LlamaConfig", llama, text),
        ("llama_lm", "LlamaForCausalLM", "LlamaConfig", llama, only_ids),
        ("mistral", "MistralModel", "MistralConfig", llama, text),
        ("qwen2", "Qwen2Model", "Qwen2Config", llama, text),
        ("qwen3", "Qwen3Model", "Qwen3Config", dict(llama, head_dim=8), text),
        ("gemma", "GemmaModel", "GemmaConfig", dict(llama, head_dim=8), text),
        ("phi", "PhiModel", "PhiConfig", llama, text),
        ("vit", "ViTModel", "ViTConfig", vit, image()),
        ("vit_classify", "ViTForImageClassification", "ViTConfig", vit,
         image()),
        ("deit", "DeiTModel", "DeiTConfig", vit, image()),
        ("beit", "BeitModel", "BeitConfig", vit, image()),
        ("dinov2", "Dinov2Model", "Dinov2Config", vit, image()),
        ("swin", "SwinModel", "SwinConfig",
         dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2],
              num_heads=[2, 4], window_size=4), image()),
        ("convnext", "ConvNextModel", "ConvNextConfig",
         dict(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1]), image()),
        ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig",
         dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1],
              decoder_hidden_size=16), image(64)),
        ("mobilevit", "MobileViTModel", "MobileViTConfig",
         dict(image_size=64, hidden_sizes=[16, 16, 16],
              neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16]), image(64)),
        ("resnet", "ResNetModel", "ResNetConfig",
         dict(hidden_sizes=[8, 16], depths=[1, 1], embedding_size=8), image()),
        ("dpt", "DPTForDepthEstimation", "DPTConfig",
         dict(vit, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3],
              neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16),
         image()),
        ("yolos", "YolosModel", "YolosConfig",
         dict(vit, image_size=[32, 32], num_detection_tokens=5), image()),
        ("clip_text", "CLIPTextModel", "CLIPTextConfig",
         dict(small, max_position_embeddings=32), text),
        ("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", vit, image()),
        ("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", vit,
         image()),
        ("whisper_encoder", "WhisperModel", "WhisperConfig",
         dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=1,
              encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
              max_source_positions=20, pad_token_id=0, bos_token_id=1,
              eos_token_id=2, decoder_start_token_id=1),
         (("input_features", lambda: torch.randn(1, 8, 40)),)),
        ("wav2vec2", "Wav2Vec2Model", "Wav2Vec2Config",
         dict(small, conv_dim=[16, 16], conv_stride=[5, 2], conv_kernel=[10, 3],
              num_feat_extract_layers=2, num_conv_pos_embeddings=8,
              num_conv_pos_embedding_groups=4), wav),
        ("hubert", "HubertModel", "HubertConfig",
         dict(small, conv_dim=[16, 16], conv_stride=[5, 2], conv_kernel=[10, 3],
              num_feat_extract_layers=2, num_conv_pos_embeddings=8,
              num_conv_pos_embedding_groups=4), wav),
        ("layoutlm", "LayoutLMModel", "LayoutLMConfig", small, text),
        ("bart_encoder", "BartModel", "BartConfig",
         dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=1,
              encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=64, decoder_ffn_dim=64), text),
        ("t5_full", "T5Model", "T5Config",
         dict(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2,
              num_heads=4, use_cache=False),
         (("input_ids", ids), ("decoder_input_ids", ids))),
        ("bart_full", "BartModel", "BartConfig",
         dict(vocab_size=99, d_model=32, encoder_layers=1, decoder_layers=1,
              encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=64, decoder_ffn_dim=64, use_cache=False),
         (("input_ids", ids), ("decoder_input_ids", ids))),
    ]

    t5 = dict(vocab_size=99, d_model=32, encoder_layers=1, decoder_layers=1,
              encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=64, decoder_ffn_dim=64, use_cache=False)
    both = (("input_ids", ids), ("decoder_input_ids", ids))
    clip = dict(text_config=dict(small, max_position_embeddings=32),
                vision_config=vit, projection_dim=16)
    audio = dict(small, conv_dim=[16, 16], conv_stride=[5, 2],
                 conv_kernel=[10, 3], num_feat_extract_layers=2,
                 num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)

    def video(frames=2, size=32):
        return (("pixel_values",
                 lambda: torch.randn(1, frames, 3, size, size)),)

    table += [
        ("clip", "CLIPModel", "CLIPConfig", clip, text + image()),
        ("siglip", "SiglipModel", "SiglipConfig",
         dict(text_config=dict(small, max_position_embeddings=12),
              vision_config=vit), (("input_ids", ids),) + image()),
        ("vilt", "ViltModel", "ViltConfig",
         dict(small, image_size=32, patch_size=8), text + image()),
        ("deberta", "DebertaModel", "DebertaConfig",
         dict(small, relative_attention=True, pos_att_type=["p2c", "c2p"]),
         text),
        ("longformer", "LongformerModel", "LongformerConfig",
         dict(small, attention_window=[4, 4]), text),
        ("big_bird", "BigBirdModel", "BigBirdConfig",
         dict(small, attention_type="original_full"), text),
        ("xlnet", "XLNetModel", "XLNetConfig",
         dict(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=64),
         text),
        ("gptj", "GPTJModel", "GPTJConfig", dict(gpt, rotary_dim=4), text),
        ("codegen", "CodeGenModel", "CodeGenConfig", dict(gpt, rotary_dim=4),
         text),
        ("falcon", "FalconModel", "FalconConfig", dict(small, use_cache=False),
         text),
        ("mpt", "MptModel", "MptConfig",
         dict(vocab_size=99, d_model=32, n_layers=2, n_heads=4,
              use_cache=False), text),
        ("stablelm", "StableLmModel", "StableLmConfig", llama, text),
        ("olmo", "OlmoModel", "OlmoConfig", llama, text),
        ("cohere", "CohereModel", "CohereConfig", llama, text),
        ("gemma2", "Gemma2Model", "Gemma2Config", dict(llama, head_dim=8),
         text),
        ("phi3", "Phi3Model", "Phi3Config", dict(llama, pad_token_id=0), text),
        ("granite", "GraniteModel", "GraniteConfig", llama, text),
        ("starcoder2", "Starcoder2Model", "Starcoder2Config", llama, text),
        ("smollm3", "SmolLM3Model", "SmolLM3Config", dict(llama,
                                                          pad_token_id=0),
         text),
        ("mixtral", "MixtralModel", "MixtralConfig",
         dict(llama, num_local_experts=2), text),
        ("mamba", "MambaModel", "MambaConfig",
         dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4,
              use_cache=False), only_ids),
        ("rwkv", "RwkvModel", "RwkvConfig",
         dict(vocab_size=99, hidden_size=32, num_hidden_layers=2,
              attention_hidden_size=32, use_cache=False), only_ids),
        ("mbart", "MBartModel", "MBartConfig", t5, both),
        ("pegasus", "PegasusModel", "PegasusConfig", t5, both),
        ("marian", "MarianModel", "MarianConfig",
         dict(t5, pad_token_id=0, decoder_start_token_id=1), both),
        ("wavlm", "WavLMModel", "WavLMConfig", audio, wav),
        ("wav2vec2_ctc", "Wav2Vec2ForCTC", "Wav2Vec2Config", audio, wav),
        ("ast", "ASTModel", "ASTConfig",
         dict(vit, max_length=64, num_mel_bins=32, patch_size=8),
         (("input_values", lambda: torch.randn(1, 64, 32)),)),
        ("videomae", "VideoMAEModel", "VideoMAEConfig",
         dict(vit, num_frames=2), video()),
        ("timesformer", "TimesformerModel", "TimesformerConfig",
         dict(vit, num_frames=2), video()),
        ("vit_mae", "ViTMAEModel", "ViTMAEConfig", dict(vit, mask_ratio=0.0),
         image()),
        ("owlvit_vision", "OwlViTVisionModel", "OwlViTVisionConfig", vit,
         image()),
        ("data2vec_vision", "Data2VecVisionModel", "Data2VecVisionConfig", vit,
         image()),
        ("glpn", "GLPNForDepthEstimation", "GLPNConfig",
         dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1],
              decoder_hidden_size=16), image(64)),
        ("levit", "LevitModel", "LevitConfig", dict(image_size=64),
         image(64)),
        ("cvt", "CvtModel", "CvtConfig",
         dict(embed_dim=[16, 32, 48], num_heads=[1, 2, 3], depth=[1, 1, 1]),
         image(64)),
        ("focalnet", "FocalNetModel", "FocalNetConfig",
         dict(image_size=32, patch_size=2, embed_dim=16, depths=[1, 1],
              focal_levels=[1, 1], focal_windows=[3, 3],
              hidden_sizes=[16, 32]), image()),
        ("pvt", "PvtModel", "PvtConfig",
         dict(image_size=64, hidden_sizes=[16, 16, 32, 32],
              depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2]),
         image(64)),
        ("regnet", "RegNetModel", "RegNetConfig",
         dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1],
              groups_width=8), image()),
        ("mobilenet_v2", "MobileNetV2Model", "MobileNetV2Config",
         dict(image_size=32, depth_multiplier=0.35), image()),
        ("upernet", "UperNetForSemanticSegmentation", "UperNetConfig",
         dict(hidden_size=16, auxiliary_channels=8, auxiliary_in_channels=16,
              num_labels=5), image(64)),
        ("detr", "DetrForObjectDetection", "DetrConfig",
         dict(d_model=16, encoder_layers=1, decoder_layers=1,
              encoder_attention_heads=2, decoder_attention_heads=2,
              encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=5,
              use_timm_backbone=False, use_pretrained_backbone=False,
              backbone=None, backbone_config="resnet"), image(64)),
        ("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig",
         dict(image_size=16, patch_size=1, embed_dim=16, depths=[2],
              num_heads=[2], window_size=4), image(16)),
        ("patchtst", "PatchTSTModel", "PatchTSTConfig",
         dict(num_input_channels=2, context_length=32, patch_length=8,
              patch_stride=8, d_model=16, num_attention_heads=2,
              num_hidden_layers=1, ffn_dim=32),
         (("past_values", lambda: torch.randn(2, 32, 2)),)),
        ("vits_text", "SpeechT5HifiGan", "SpeechT5HifiGanConfig",
         dict(model_in_dim=8, upsample_initial_channel=16,
              upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4],
              resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]]),
         (("spectrogram", lambda: torch.randn(1, 10, 8)),)),
        ("encodec", "EncodecModel", "EncodecConfig",
         dict(num_filters=4, hidden_size=16, codebook_size=8,
              upsampling_ratios=[4, 2], codebook_dim=16),
         (("input_values", lambda: torch.randn(1, 1, 160)),)),
    ]

    def net(kind, config, settings, inputs, attention, encoder):
        def make():
            import transformers
            if settings.get("backbone_config") == "resnet":
                settings["backbone_config"] = transformers.ResNetConfig(
                    hidden_sizes=[8, 16], depths=[1, 1], embedding_size=8,
                    out_features=["stage2"])
            config_ = getattr(transformers, config)(**settings)
            config_._attn_implementation = attention
            try:
                model = getattr(transformers, kind)._from_config(
                    config_, attn_implementation=attention)
            except ValueError:
                if attention != "eager":
                    raise
                model = getattr(transformers, kind)(config_)
            wrap = Encoder if encoder else Plain
            return (wrap(model.eval(), [n for n, _ in inputs]),
                    tuple(f() for _, f in inputs))
        return make

    return [(name + "_" + attention,
             net(kind, config, settings, inputs, attention,
                 name.endswith("_encoder") and name != "t5_encoder"),
             ("trace",))
            for name, kind, config, settings, inputs in table
            for attention in ("eager", "sdpa")]
