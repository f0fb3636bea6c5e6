#!/usr/bin/env node
// The IPAM plugin as a program: `ipam.type` is `whereabouts` for the objects of upstream, `ipam-kit`
// for blocks, or for a file with `ipam.sqlite`.
//
//   main.ts [--rules upstream] [--sticky pod] [--record FOLDER] [--socket PATH [--fallback thin]]
//   main.ts --daemon PATH [--rules upstream] [--sticky pod] [--record FOLDER]
//
// A runtime calls it by the name in `ipam.type`, without flags: a script of two lines can add them.
//
//   --rules upstream   the configuration is read as upstream reads it, with the texts of upstream;
//                      DEL succeeds if the API server cannot be reached or refuses
//   --sticky pod       a new container of a Pod name gets the address of the container before, as
//                      upstream does
//   --record FOLDER    the containers that this Node has added, for GC. Without it, GC frees less.
//   --daemon PATH      answers other calls at this socket, until SIGTERM or SIGINT
//   --socket PATH      passes the call on to the daemon at this socket
//   --fallback thin    carries out the call itself if the daemon has not begun it
//
// The kubeconfig is that of the configuration (`kubernetes.kubeconfig`), else that of KUBECONFIG.
// The Node is NODENAME, else the name of the host. A call writes one JSON text to stdout and ends
// with status 0 or 1. A daemon that cannot start ends with status 1, wrong flags with 2.
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import type { CniAnswer } from 'ipam-kit/cni'
import { callDaemon } from './call-daemon.js'
import type { ProgramFlags } from './thin.js'

const FLAGS = {
  rules: { type: 'string' },
  sticky: { type: 'string' },
  record: { type: 'string' },
  daemon: { type: 'string' },
  socket: { type: 'string' },
  fallback: { type: 'string' },
} as const

void main()

async function main(): Promise<void> {
  const { rules, sticky, record, daemon, socket, fallback } = parseArgs({ options: FLAGS }).values
  const flags = { rules: oneOf('rules', rules, 'upstream'), sticky: oneOf('sticky', sticky, 'pod'), record }
  const canFallBack = oneOf('fallback', fallback, 'thin') !== undefined
  if (daemon !== undefined) return serveShims(daemon, flags)
  const { env, stdin } = process
  const thin = (given: Readable) => runThin(flags, given)
  const { stdout, exitCode } =
    socket === undefined || env.CNI_COMMAND === 'VERSION'
      ? await thin(stdin)
      : await callDaemon(socket, { env, stdin, fallback: canFallBack ? thin : undefined })
  // a runtime that has closed its end does not read the answer
  process.stdout.once('error', () => process.exit(1))
  process.stdout.write(stdout, () => process.exit(exitCode))
}

/** A call that is passed on does not load this half of the program. */
async function runThin(flags: ProgramFlags, stdin: Readable): Promise<CniAnswer> {
  const thin = await import('./thin.js')
  return thin.runThin(flags, process.env, stdin)
}

async function serveShims(socket: string, flags: ProgramFlags): Promise<void> {
  const { runDaemon } = await import('./thick.js')
  try {
    await runDaemon(socket, flags, process.env)
    process.exit(0)
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

function oneOf<T extends string>(flag: string, value: string | undefined, only: T): T | undefined {
  if (value === undefined) return undefined
  if (value === only) return only
  console.error(`--${flag} is ${only} or left out`)
  process.exit(2)
}
