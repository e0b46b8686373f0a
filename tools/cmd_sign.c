/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer keygen, sign and verify: signatures of engines. */
#include "bessemer/signature.h"

#include <unistd.h>

#include "tools/session.h"

static error_t parse(int key, char *arg, struct argp_state *state) {
  return bsm_cli_argument(key, arg, state, false, false);
}

/* ---- keygen ---- */

static const struct argp_option keygen_options[] = {BSM_OPTIONS_LOG, {0}};

const struct argp bsm_argp_keygen = {
    .options = keygen_options,
    .parser = parse,
    .args_doc = "FILE",
    .doc =
        "Makes a key to sign engines with: the secret key FILE, which nobody "
        "else may have, and FILE.pub, the public key that tells your engines "
        "from others."
        "\v"
        "Both are PEM as OpenSSL's: `openssl genpkey -algorithm ed25519` and "
        "`openssl pkey -pubout` make such files, too. Nothing is replaced.\n\n"
        "Example:\n"
        "  bessemer keygen my.key"};

static void print_key(const char *what, const uint8_t key[32]) {
  printf("%s", what);
  for (int i = 0; i < BSM_PUBLIC_KEY_BYTES; i++) printf("%02x", key[i]);
  putchar('\n');
}

static bsm_status make_key(bsm_cli *cli) {
  uint8_t secret[BSM_SECRET_KEY_BYTES], public_key[BSM_PUBLIC_KEY_BYTES];
  const char *public_path = bsm_arena_printf(&cli->arena, "%s.pub", cli->path);
  BSM_TRY_ALLOC(public_path);
  BSM_TRY(bsm_secret_key_create(secret));
  BSM_TRY(bsm_secret_key_public(secret, public_key));
  BSM_TRY(bsm_secret_key_save(secret, cli->path));
  bsm_status status = bsm_public_key_save(public_key, public_path);
  if (status) {
    unlink(cli->path); /* a key of which nobody has the other half */
    return status;
  }
  printf("%s: the secret key\n%s: the public key\n", cli->path, public_path);
  print_key("public key ", public_key);
  return BSM_OK;
}

int bsm_cmd_keygen(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer keygen", &bsm_argp_keygen, argc, argv);
  const int code = bsm_cli_finish(&cli, make_key(&cli));
  bsm_cli_close(&cli);
  return code;
}

/* ---- sign ---- */

static const struct argp_option sign_options[] = {
    {"key", BSM_KEY_KEY, "FILE", 0, "The secret key; required", 1},
    {"output", 'o', "FILE", 0,
     "The engine to write (ENGINE itself, which is replaced)", 1},
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse_sign(int key, char *arg, struct argp_state *state) {
  const bsm_cli *cli = state->input;
  if (key == ARGP_KEY_END && cli->path && !cli->secret_key) {
    argp_error(state, "no key given: --key FILE");
  }
  return parse(key, arg, state);
}

const struct argp bsm_argp_sign = {
    .options = sign_options,
    .parser = parse_sign,
    .args_doc = "ENGINE",
    .doc =
        "Signs an engine: who has the public key and gives it as --public-key "
        "can run the machine code in the engine, and knows that nobody has "
        "changed a byte."
        "\v"
        "Example:\n"
        "  bessemer sign model.bsm --key my.key"};

static bsm_status sign(const bsm_cli *cli) {
  uint8_t key[BSM_SECRET_KEY_BYTES], public_key[BSM_PUBLIC_KEY_BYTES];
  const char *out = cli->output ? cli->output : cli->path;
  BSM_TRY(bsm_secret_key_load(cli->secret_key, key));
  BSM_TRY(bsm_secret_key_public(key, public_key));
  BSM_TRY(bsm_engine_sign(cli->path, key, out));
  printf("%s: signed\n", out);
  print_key("public key ", public_key);
  return BSM_OK;
}

int bsm_cmd_sign(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer sign", &bsm_argp_sign, argc, argv);
  const int code = bsm_cli_finish(&cli, sign(&cli));
  bsm_cli_close(&cli);
  return code;
}

/* ---- verify ---- */

static const struct argp_option verify_options[] = {
    BSM_OPTION_PUBLIC_KEY(
        "A public key that the engine may be signed with; repeatable"),
    BSM_OPTIONS_LOG,
    {0}};

static error_t parse_verify(int key, char *arg, struct argp_state *state) {
  const bsm_cli *cli = state->input;
  if (key == ARGP_KEY_END && cli->path && !cli->public_keys.len) {
    argp_error(state, "no key given: --public-key FILE");
  }
  return parse(key, arg, state);
}

const struct argp bsm_argp_verify = {
    .options = verify_options,
    .parser = parse_verify,
    .args_doc = "ENGINE",
    .doc =
        "Tells whether an engine is signed with one of the keys, and "
        "unchanged. (Commands that run engines take --public-key themselves, "
        "and verify the bytes that they run.)"
        "\v"
        "Example:\n"
        "  bessemer verify model.bsm --public-key my.key.pub"};

static bsm_status verify(bsm_cli *cli) {
  bsm_key_vec keys = {0};
  size_t signer;
  BSM_TRY(bsm_session_read_keys(cli, &keys));
  BSM_TRY(
      bsm_engine_verify(cli->path, BSM_KEY_ARRAY(&keys), keys.len, &signer));
  printf("%s: signed with the key of %s\n", cli->path,
         cli->public_keys.items[signer]);
  return BSM_OK;
}

int bsm_cmd_verify(int argc, char **argv) {
  bsm_cli cli;
  bsm_cli_parse(&cli, "bessemer verify", &bsm_argp_verify, argc, argv);
  const int code = bsm_cli_finish(&cli, verify(&cli));
  bsm_cli_close(&cli);
  return code;
}
