"""kernelmap_apply for Bazel: a rule that rewrites a TorchScript archive.

    load("//:kernelmap.bzl", "kernelmap_apply")
    kernelmap_apply(name = "model", model = "model.pt", config = "kernels.toml", kernelmap = "@kernelmap//:kernelmap")

Makes NAME.pt and NAME.report.json. Bazel runs it again only when model, config or the program changed. Only built-in
and local kernels named in `data` are visible in Bazel's sandbox, not the Hugging Face cache.
"""

def _impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".pt")
    report = ctx.actions.declare_file(ctx.label.name + ".report.json")
    args = ctx.actions.args()
    args.add("apply")
    if ctx.file.config:
        args.add(ctx.file.config)
    args.add(ctx.file.model)
    args.add("-o", out)
    args.add("--report", report)
    if ctx.attr.strict:
        args.add("--strict")
    ctx.actions.run(
        executable = ctx.executable.kernelmap,
        arguments = [args],
        inputs = [f for f in [ctx.file.model, ctx.file.config] if f] + ctx.files.data,
        outputs = [out, report],
        mnemonic = "KernelmapApply",
        progress_message = "Rewriting %{label}",
    )
    return [DefaultInfo(files = depset([out, report]))]

kernelmap_apply = rule(
    implementation = _impl,
    attrs = {
        "model": attr.label(allow_single_file = [".pt"], mandatory = True),
        "config": attr.label(allow_single_file = [".toml", ".json"]),
        "data": attr.label_list(allow_files = True),
        "strict": attr.bool(),
        "kernelmap": attr.label(executable = True, cfg = "exec", mandatory = True),
    },
)
