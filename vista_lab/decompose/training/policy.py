"""The torch half of a decomposer's training: SFT and Dr. GRPO by TRL, resumption, and a policy's answers."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import ConfigError, JudgeError
from vista_lab.decompose.training.inputs import Chat
from vista_lab.decompose.training.recipes import GrpoRecipe, PolicyRecipe, SftRecipe
from vista_lab.decompose.training.rollouts import Rollouts, collapse
from vista_lab.training import trainers

LOG = "log.jsonl"
"""A line a step: each term of the reward, claims, and what tells of a collapse (DAD, Figure 2)."""
_LOGGED = {
    "frac_reward_zero_std": "equal_groups",
    "completions/clipped_ratio": "clipped",
    "completions/mean_length": "tokens",
    **{name: name for name in ("loss", "reward", "reward_std", "entropy", "learning_rate", "grad_norm")},
    **{name: name for name in ("dense", "sparse", "claims", "no_list", "malformed", "mean_token_accuracy")},
    **{f"rewards/{term}/mean": term for term in ("format", "verifier", "checklist")},
}
"""Figures that go into the log, by the libraries' names. Times are in none: a resumed run has the same log."""


def check_devices() -> None:
    """Checks that there is one device to train on: recipes accumulate what does not fit at once.

    Raises ConfigError: there are several GPUs, or several processes.
    """
    import torch

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("a decomposer is trained by one process on one GPU; start it without accelerate or torchrun")
    if torch.cuda.device_count() > 1:
        raise ConfigError(f"{torch.cuda.device_count()} GPUs are visible and one is used: set CUDA_VISIBLE_DEVICES=0")


class Policy:
    """A causal model with its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer

    @classmethod
    def load(cls, base: str) -> Policy:
        """Loads a base, which must be a chat model.

        Raises ConfigError: it cannot be loaded, is another kind of model, or has no chat template.
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        def load(name: str) -> Policy:
            dtype = torch.bfloat16 if trainers.has_accelerator() else torch.float32
            tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left")
            model = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
            return cls(
                model.to(torch.accelerator.current_accelerator()) if trainers.has_accelerator() else model, tokenizer
            )

        with trainers.without_noise():
            policy = trainers.load_base_model("decomposer", base, load)
        if not policy.tokenizer.chat_template:
            raise ConfigError(
                f"base {base} has no chat template: its tokenizer does not say how a prompt looks. Take a chat model"
            )
        if policy.tokenizer.pad_token is None:
            policy.tokenizer.pad_token = policy.tokenizer.eos_token
        return policy

    def count(self, chat: Chat) -> int:
        """Tokens of a prompt, with its template."""
        return len(self._ids(chat))

    def length(self, text: str) -> int:
        """Tokens of an answer, with its end."""
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"]) + 1

    def _ids(self, chat: Chat) -> list[int]:
        ids: list[int] = self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        return ids

    def answer(
        self,
        chats: Sequence[Chat],
        recipe: PolicyRecipe,
        *,
        greedy: bool = False,
        seed: int = 0,
        told: Callable[[int], None] = lambda done: None,
    ) -> list[str]:
        """One answer to each chat, sampled as in training. `told` gets the number of answers after each batch."""
        import torch

        torch.manual_seed(seed)
        self.model.eval()
        how: dict[str, Any] = {"do_sample": not greedy}
        if not greedy:
            how |= {"temperature": recipe.temperature, "top_p": recipe.top_p, "top_k": 0}
        ends = self.model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or ())
        answers: list[str] = []
        size = recipe.at_once if isinstance(recipe, GrpoRecipe) else recipe.batch
        for start in range(0, len(chats), size):
            batch = [{"input_ids": self._ids(chat)} for chat in chats[start : start + size]]
            padded = self.tokenizer.pad(batch, padding=True, padding_side="left", return_tensors="pt")
            padded = padded.to(self.model.device)
            with torch.no_grad():
                outputs = self.model.generate(
                    input_ids=padded["input_ids"],
                    attention_mask=padded["attention_mask"],
                    max_new_tokens=recipe.completion_tokens,
                    pad_token_id=self.tokenizer.pad_token_id,
                    eos_token_id=sorted({*ends, self.tokenizer.eos_token_id}),
                    **how,
                )
            answers += self.tokenizer.batch_decode(outputs[:, padded["input_ids"].shape[1] :], skip_special_tokens=True)
            told(len(answers))
        return answers

    def save(self, out: Path) -> None:
        """Writes the model as a folder that a server loads; checkpoints are removed."""
        with trainers.without_noise():
            trainers.write_model(out, self.model, self.tokenizer)


def _adapter(recipe: PolicyRecipe) -> Any:
    """LoRA on all projections of attention and MLP; None where all weights are trained."""
    if not recipe.rank:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def _arguments(recipe: PolicyRecipe, out: Path) -> dict[str, Any]:
    gpu = trainers.has_accelerator()
    return {
        "output_dir": str(trainers.checkpoints(out)),
        "per_device_train_batch_size": recipe.batch,
        "gradient_accumulation_steps": recipe.update // recipe.batch,
        "learning_rate": recipe.learning_rate,
        "optim": recipe.optimizer,
        "bf16": gpu,
        _checkpointing(): gpu,
        "save_strategy": "steps",
        "save_steps": recipe.checkpoint_every,
        "save_total_limit": 2,
        "logging_steps": 1,
        "seed": recipe.seed,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": gpu,
    }


def _checkpointing() -> str:
    """The option's name; transformers 5 gave it another."""
    from transformers import TrainingArguments

    newer = "activation_checkpointing"
    return newer if newer in TrainingArguments.__dataclass_fields__ else "gradient_checkpointing"


def train_sft(
    policy: Policy, rows: Sequence[tuple[Chat, str]], recipe: SftRecipe, out: Path, log: Callable[[str], None]
) -> Policy:
    """Trains on chats with their answers, the loss on the answers alone."""
    from trl import SFTConfig

    settings = SFTConfig(
        **_arguments(recipe, out),
        num_train_epochs=recipe.epochs,
        lr_scheduler_type={"constant": "constant_with_warmup"}.get(recipe.decay, recipe.decay),
        warmup_steps=round(recipe.warmup * recipe.epochs * len(rows) / recipe.update),
        weight_decay=recipe.weight_decay,
        max_length=None,  # rows are cut to the recipe's window before: the trainer would cut answers
        completion_only_loss=True,
        packing=False,
    )
    with trainers.without_noise():
        trainer = sft_trainer(policy, rows, recipe, settings)
        _run(trainer, out, log, patience=0)
    return _merge(trainer, policy)


def sft_trainer(policy: Policy, rows: Sequence[tuple[Chat, str]], recipe: SftRecipe, settings: Any) -> Any:
    """TRL's trainer over these rows."""
    from datasets import Dataset
    from trl import SFTTrainer

    chats = [{"prompt": chat, "completion": [{"role": "assistant", "content": answer}]} for chat, answer in rows]
    return SFTTrainer(
        policy.model,
        args=settings,
        train_dataset=Dataset.from_list(chats),
        processing_class=policy.tokenizer,
        peft_config=_adapter(recipe),
    )


def train_grpo(
    policy: Policy,
    rows: Sequence[Mapping[str, Any]],
    rollouts: Rollouts,
    recipe: GrpoRecipe,
    out: Path,
    log: Callable[[str], None],
    patience: int,
) -> tuple[Policy, str]:
    """Trains by Dr. GRPO on rows of `prompt` and what its rewards need. Also returns why it collapsed; empty if it did not.

    Raises JudgeError: a reward has no value; what was trained so far is in a checkpoint.
    """
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    settings = GRPOConfig(
        **_arguments(recipe, out),
        max_steps=recipe.steps,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=recipe.warmup_steps,
        num_generations=recipe.generations,
        generation_batch_size=recipe.at_once,
        max_completion_length=recipe.completion_tokens,
        temperature=recipe.temperature,
        top_p=recipe.top_p,
        beta=recipe.beta,
        epsilon=recipe.epsilon,
        loss_type="dr_grpo",
        scale_rewards="none",
    )
    with trainers.without_noise():
        trainer = GRPOTrainer(
            policy.model,
            reward_funcs=rollouts.functions,
            args=settings,
            train_dataset=Dataset.from_list([dict(row) for row in rows]),
            processing_class=policy.tokenizer,
            peft_config=_adapter(recipe),
        )
        why = _run(trainer, out, log, patience)
    return _merge(trainer, policy), why


def _merge(trainer: Any, policy: Policy) -> Policy:
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    return Policy(model, policy.tokenizer)


def _run(trainer: Any, out: Path, log: Callable[[str], None], patience: int) -> str:
    """Trains with the log; if a reward has no value, first saves a checkpoint of the last whole step."""
    keeper = _log_keeper(out / LOG, patience)
    trainer.add_callback(keeper)
    try:
        trainers.run_trainer(trainer, out, log)
    except JudgeError:
        if trainer.state.global_step:
            _set_randomness(keeper.random)
            trainer._save_checkpoint(trainer.model, trial=None)
        raise
    return str(keeper.collapsed)


def _log_keeper(path: Path, patience: int) -> Any:
    from transformers import TrainerCallback

    class LogKeeper(TrainerCallback):  # type: ignore[misc]  # the library is untyped here
        collapsed = ""
        random: Any = None
        lines: list[dict[str, Any]]

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            # Lines behind the last checkpoint come again.
            self.lines = [line for entry in state.log_history if (line := _line(entry, entry.get("step", 0)))]
            self.random = _state_of_randomness()
            if state.is_world_process_zero:
                path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.random = _state_of_randomness()

        def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
            line = _line(logs or {}, state.global_step)
            if not line:
                return
            self.lines.append(line)
            if state.is_world_process_zero:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            self.collapsed = collapse(self.lines, patience)
            if self.collapsed:
                control.should_save = control.should_training_stop = True

    return LogKeeper()


def _line(entry: Mapping[str, Any], step: int) -> dict[str, Any]:
    """A line of the log; empty for an entry that is not of one step."""
    if "loss" not in entry:
        return {}
    return {"step": step, **{ours: entry[theirs] for theirs, ours in _LOGGED.items() if theirs in entry}}


def _state_of_randomness() -> tuple[Any, ...]:
    import numpy as np
    import torch

    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), devices


def _set_randomness(state: tuple[Any, ...]) -> None:
    """A checkpoint in the middle of a step has the randomness of its beginning, so that the step comes again the same."""
    import numpy as np
    import torch

    python, numpy, central, devices = state
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(central)
    if devices:
        torch.cuda.set_rng_state_all(devices)
