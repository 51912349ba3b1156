"""Architectures: what they return, where they are read, and that they are built from a seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shesha_bench.vision.images import Hyper

torch = pytest.importorskip("torch")

from shesha_bench.vision import networks  # noqa: E402
from shesha_bench.vision.images import Parts  # noqa: E402
from shesha_bench.vision.networks import Classifier, build  # noqa: E402
from shesha_bench.vision.training import choose_blocks, read_layers  # noqa: E402


def layers_of(architecture: str, hyper: Hyper, side: int) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    network = build(architecture, 7, hyper, seed=0, pretrained=False).eval()
    images = 255 * torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return read_layers(network, images, choose_blocks(network, side), hyper.extent)


@pytest.mark.parametrize(("architecture", "widths"), [("ResNet", [16, 32, 32, 64, 64]), ("VGG", [16, 32, 32, 64, 64])])
def test_maps_of_the_small_networks(architecture: str, widths: list[int], hyper: Callable[..., Hyper]) -> None:
    logits, layers = layers_of(architecture, hyper(extent=3), 16)
    assert logits.shape == (2, 7)
    assert [tuple(layer.shape) for layer in layers] == [*((2, 3, 3, width) for width in widths), (2, 64)]
    assert min(float(layer.min()) for layer in layers) >= 0


def test_tokens_of_the_small_transformer(hyper: Callable[..., Hyper]) -> None:
    logits, layers = layers_of("ViT", hyper(), 16)
    assert logits.shape == (2, 7)
    assert [tuple(layer.shape) for layer in layers] == [(2, 64)] * 4


@pytest.mark.parametrize("architecture", ["ResNet", "VGG", "ViT"])
def test_the_last_hidden_representation_is_what_is_classified(architecture: str, hyper: Callable[..., Hyper]) -> None:
    logits, layers = layers_of(architecture, hyper(extent=4), 16)
    head = build(architecture, 7, hyper(), seed=0, pretrained=False).body.head
    torch.testing.assert_close(head(layers[-1]), logits)
    if architecture != "ViT":
        # Four pixels are the whole of the last map.
        torch.testing.assert_close(layers[-2].mean(dim=(1, 2)), layers[-1])


@pytest.mark.parametrize(
    ("architecture", "image_size", "widths"),
    [
        ("RNet18", 32, [128, 256, 256, 512, 512]),
        ("RNet34", 32, [256, 256, 512, 512, 512]),
        ("RNet101", 32, [1024, 1024, 2048, 2048, 2048]),
        ("VGG11", 32, [256, 512, 512, 512, 512]),
        ("VGG19", 32, [512, 512, 512, 512, 512]),
        ("RNet18", 96, [128, 256, 256, 512, 512]),
        ("VGG11", 96, [512, 512, 512, 512]),
    ],
)
@pytest.mark.usefixtures("torchvision")
def test_maps_of_the_papers_networks(
    architecture: str, image_size: int, widths: list[int], hyper: Callable[..., Hyper]
) -> None:
    logits, layers = layers_of(architecture, hyper(image_size=image_size), image_size)
    assert logits.shape == (2, 7)
    assert [tuple(layer.shape) for layer in layers[:-1]] == [(2, 2, 2, width) for width in widths]
    assert layers[-1].shape == (2, widths[-1])


def test_blocks_are_chosen_wherever_the_network_is() -> None:
    strides = [torch.nn.Conv2d(3, 3, 1, stride) for stride in (4, 2, 2)]
    body = torch.nn.Sequential(*strides, torch.nn.Flatten(), torch.nn.Linear(108, 2))
    network = Classifier(Parts(body, ("0", "1", "2"), "4"), image_size=96, tokens=False)
    # On this device nothing can meet a tensor of another one.
    for device in ("cpu", "meta"):
        assert choose_blocks(network.to(device), 96) == ("body.1", "body.2")


@pytest.mark.usefixtures("torchvision")
def test_resnets_keep_the_resolution_of_small_images() -> None:
    maps: list[int] = []
    network = networks.resnet(18, 5, 32)
    network.get_submodule("layer1").register_forward_hook(lambda _, __, output: maps.append(output.shape[-1]))
    network(torch.zeros(2, 3, 32, 32))
    assert maps == [32]


@pytest.mark.usefixtures("vit")
def test_tokens_of_the_papers_transformers(hyper: Callable[..., Hyper]) -> None:
    for architecture in ("ViT B32", "ViT L32"):
        logits, layers = layers_of(architecture, hyper(reduced=True), 16)
        assert logits.shape == (2, 7)
        assert [tuple(layer.shape) for layer in layers] == [(2, 16)] * 2


@pytest.mark.usefixtures("vit")
def test_pretrained_weights_of_the_local_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hyper: Callable[..., Hyper]
) -> None:
    import transformers

    pytest.importorskip("safetensors")
    monkeypatch.setitem(networks.CHECKPOINTS, "ViT B32", ("google/vit-base-patch32-224-in21k", (16, 2, 2)))
    monkeypatch.setenv("SHESHA_DATA", str(tmp_path))
    config = transformers.ViTConfig(
        image_size=32,
        patch_size=32,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    encoder = transformers.ViTModel(config)
    encoder.save_pretrained(tmp_path / "vit-base-patch32-224-in21k")
    network = build("ViT B32", 3, hyper(image_size=32), seed=0, pretrained=True)
    assert network.state_dict()["body.body.classifier.weight"].shape == (3, 16)
    found = network.body.body.vit.state_dict()
    for name, weight in encoder.state_dict().items():
        if not name.startswith("pooler"):
            torch.testing.assert_close(found[name], weight, rtol=0, atol=0)


@pytest.mark.parametrize("architecture", ["ResNet", "VGG", "ViT"])
def test_weights_come_from_the_seed_alone(architecture: str, hyper: Callable[..., Hyper]) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (
        build(architecture, 3, hyper(), seed=seed, pretrained=False).state_dict() for seed in (4, 4, 5)
    )
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    assert torch.equal(before, torch.random.get_rng_state())


def test_images_are_normalised_by_the_stored_statistics(hyper: Callable[..., Hyper]) -> None:
    network = build("VGG", 3, hyper(), seed=0, pretrained=False).eval()
    images = torch.randint(256, (2, 3, 16, 16), generator=torch.Generator().manual_seed(2)).float()
    network.mean.copy_(torch.tensor([0.1, 0.2, 0.3]))
    network.sd.copy_(torch.tensor([0.5, 0.25, 2.0]))
    mean, sd = (np.array(values).reshape(3, 1, 1) for values in ([0.1, 0.2, 0.3], [0.5, 0.25, 2.0]))
    normalised = torch.from_numpy((images.numpy() / 255 - mean) / sd).float()
    torch.testing.assert_close(network(images), network.body(normalised))
