/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer man: manual pages, made from the tables of options that also make
 * the help. */
#include <ctype.h>
#include <string.h>

#include "base/near_name.h"
#include "tools/cli.h"

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, false, true);
}

static const struct argp_option options[] = {BSM_OPTIONS_LOG, {0}};

const struct argp bsm_argp_man = {
    .options = options,
    .parser = parse,
    .args_doc = "[COMMAND]",
    .doc =
        "Writes the manual page of a command, or of all together, to the "
        "standard output, for man."
        "\v"
        "Example:\n"
        "  bessemer man compile | man -l -"};

/* A text for troff; lines stay lines. */
static void put(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const bool first = i == 0 || text[i - 1] == '\n';
    if (first && (text[i] == '.' || text[i] == '\'')) fputs("\\&", stdout);
    if (text[i] == '\\') {
      fputs("\\e", stdout);
    } else if (text[i] == '-') {
      fputs("\\-", stdout);
    } else {
      putchar(text[i]);
    }
  }
}

static void put_text(const char *text) {
  put(text, strlen(text));
}

static bool is_end(const struct argp_option *o) {
  return !o->name && !o->key && !o->doc && !o->group;
}

static void put_name(const struct argp_option *o, const char *arg) {
  if (o->key > ' ' && o->key < 127) printf("\\fB\\-%c\\fR, ", o->key);
  fputs("\\fB\\-\\-", stdout);
  put_text(o->name);
  fputs("\\fR", stdout);
  if (arg) printf("=\\fI%s\\fR", arg);
}

static void put_options(const struct argp_option *o) {
  puts(".SH OPTIONS");
  for (; !is_end(o); o++) {
    if (o->flags & (OPTION_HIDDEN | OPTION_ALIAS)) continue;
    if (!o->name) { /* a heading */
      if (!o->doc) continue;
      fputs(".SS \"", stdout);
      put_text(o->doc);
      puts("\"");
      continue;
    }
    puts(".TP");
    put_name(o, o->arg);
    for (const struct argp_option *a = o + 1; a->flags & OPTION_ALIAS; a++) {
      fputs(", ", stdout);
      put_name(a, o->arg);
    }
    putchar('\n');
    put_text(o->doc ? o->doc : "");
    putchar('\n');
  }
}

static void put_command(const bsm_command *c) {
  const char *doc = c->argp->doc ? c->argp->doc : "";
  const char *more = strchr(doc, '\v');
  const size_t length = more ? (size_t)(more - doc) : strlen(doc);
  char title[32];
  size_t n = 0;
  for (; c->name[n] && n + 1 < sizeof(title); n++) {
    title[n] = (char)toupper((unsigned char)c->name[n]);
  }
  title[n] = 0;
  printf(".TH BESSEMER\\-%s 1 \"\" \"Bessemer %s\" \"User Commands\"\n", title,
         bsm_version());
  printf(".SH NAME\nbessemer\\-%s \\- ", c->name);
  put_text(c->help);
  printf("\n.SH SYNOPSIS\n.B bessemer %s\n[\\fIOPTION\\fR...] ", c->name);
  put_text(c->argp->args_doc ? c->argp->args_doc : "");
  puts("\n.SH DESCRIPTION");
  put(doc, length);
  putchar('\n');
  put_options(c->argp->options);
  if (more) {
    puts(".SH NOTES\n.nf");
    put_text(more + 1);
    puts("\n.fi");
  }
  puts(
      ".SH EXIT STATUS\n0: done; 1: failed, with one message on the standard "
      "error; 2: used wrongly.");
}

static void put_all(void) {
  printf(
      ".TH BESSEMER 1 \"\" \"Bessemer %s\" \"User Commands\"\n"
      ".SH NAME\nbessemer \\- compile PyTorch models into standalone engines, "
      "and run them\n"
      ".SH SYNOPSIS\n.B bessemer\n\\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
      ".SH COMMANDS\n",
      bsm_version());
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    printf(".TP\n.BR bessemer\\-%s (1)\n", c->name);
    put_text(c->help);
    putchar('\n');
  }
}

static bsm_status write_manual(const bsm_cli *cli) {
  if (!cli->path) {
    put_all();
    return BSM_OK;
  }
  bsm_near_name near = {.wanted = bsm_str_of(cli->path)};
  for (const bsm_command *c = bsm_commands; c->name; c++) {
    if (strcmp(c->name, cli->path) == 0) {
      put_command(c);
      return BSM_OK;
    }
    bsm_near_name_look(&near, c->name);
  }
  return BSM_FAIL(BSM_INVALID_ARGUMENT, "there is no command '%s'%s%s%s",
                  cli->path, BSM_NEAR_NAME_ARGS(near, "'"));
}

int bsm_cmd_man(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer man", &bsm_argp_man, argc, argv);
  const int code = bsm_cli_finish(&cli, write_manual(&cli));
  bsm_cli_close(&cli);
  return code;
}
