/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer completions: what shells complete, made from the tables of options
 * that also make the help. */
#include <string.h>

#include "tools/cli.h"

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, false, false);
}

static const struct argp_option options[] = {BSM_OPTIONS_LOG, {0}};

const struct argp bsm_argp_completions = {
    .options = options,
    .parser = parse,
    .args_doc = "bash|zsh|fish",
    .doc =
        "Writes completions of commands and options for a shell to the "
        "standard output."
        "\v"
        "Examples:\n"
        "  eval \"$(bessemer completions bash)\"\n"
        "  bessemer completions fish "
        ">~/.config/fish/completions/bessemer.fish"};

/* Whether a row of a table is an option, and not a heading. */
static bool is_option(const struct argp_option *o) {
  return o->name && !(o->flags & (OPTION_HIDDEN | OPTION_DOC));
}

static bool is_end(const struct argp_option *o) {
  return !o->name && !o->key && !o->doc && !o->group;
}

static bool is_letter(int key) {
  return key > ' ' && key < 127;
}

/* The row whose text and argument an alias has. */
static const struct argp_option *told_by(const struct argp_option *first,
                                         const struct argp_option *o) {
  while (o > first && (o->flags & OPTION_ALIAS)) o--;
  return o;
}

/* ---- bash ---- */

static void bash_words(const bsm_command *c) {
  for (const struct argp_option *o = c->argp->options; !is_end(o); o++) {
    if (!is_option(o)) continue;
    printf(" --%s", o->name);
    if (is_letter(o->key)) printf(" -%c", o->key);
  }
}

static void write_bash(void) {
  fputs(
      "_bessemer() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} options=--help\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"",
      stdout);
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf("%s ", c->name);
  }
  fputs(
      "--help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n",
      stdout);
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf("    %s) options=\"--help", c->name);
    bash_words(c);
    puts("\" ;;");
  }
  fputs(
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _bessemer bessemer\n",
      stdout);
}

/* ---- zsh and fish ---- */

/* A text between apostrophes; of it, what `escaped` has gets a backslash. */
static void quoted(const char *text, const char *escaped) {
  for (; text && *text; text++) {
    if (*text == '\'') {
      fputs("'\\''", stdout);
      continue;
    }
    if (strchr(escaped, *text)) putchar('\\');
    putchar(*text);
  }
}

static void zsh_option(const struct argp_option *first,
                       const struct argp_option *o) {
  const struct argp_option *told = told_by(first, o);
  printf("        '*--%s%s[", o->name, told->arg ? "=" : "");
  quoted(told->doc, "[]:");
  putchar(']');
  if (told->arg) printf(":%s:_files", told->arg);
  fputs("' \\\n", stdout);
}

static void write_zsh(void) {
  fputs("#compdef bessemer\n_bessemer() {\n  local -a commands=(\n", stdout);
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf("    '%s:", c->name);
    quoted(c->help, ":");
    puts("'");
  }
  fputs(
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n",
      stdout);
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf("    %s)\n      _arguments \\\n", c->name);
    for (const struct argp_option *o = c->argp->options; !is_end(o); o++) {
      if (is_option(o)) zsh_option(c->argp->options, o);
    }
    puts("        '*:file:_files' ;;");
  }
  puts("  esac\n}\n_bessemer \"$@\"");
}

static void write_fish(void) {
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf("complete -c bessemer -n __fish_use_subcommand -a %s -d '", c->name);
    quoted(c->help, "\\");
    puts("'");
    for (const struct argp_option *o = c->argp->options; !is_end(o); o++) {
      const struct argp_option *told = told_by(c->argp->options, o);
      if (!is_option(o)) continue;
      printf("complete -c bessemer -n '__fish_seen_subcommand_from %s' -l %s",
             c->name, o->name);
      if (is_letter(o->key)) printf(" -s %c", o->key);
      if (told->arg) fputs(" -r", stdout);
      fputs(" -d '", stdout);
      quoted(told->doc, "\\");
      puts("'");
    }
  }
}

static bsm_status write_completions(const bsm_cli *cli) {
  static const struct {
    const char *shell;
    void (*write)(void);
  } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
  for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
    if (strcmp(cli->path, shells[i].shell) != 0) continue;
    shells[i].write();
    return BSM_OK;
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "'%s' is none of bash, zsh and fish",
                  cli->path);
}

int bsm_cmd_completions(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer completions", &bsm_argp_completions, argc,
                argv);
  const int code = bsm_cli_finish(&cli, write_completions(&cli));
  bsm_cli_close(&cli);
  return code;
}
