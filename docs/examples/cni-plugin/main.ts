#!/usr/bin/env node
// The IPAM plugin as a program: `ipam.type` is `whereabouts` for the objects of upstream, `ipam-kit`
// for blocks, or for a file with `ipam.sqlite`.
//
//   main.ts [--rules upstream] [--sticky pod] [--record FOLDER]
//
// A runtime calls it by the name in `ipam.type`, without flags: a script of two lines can add them.
//
//   --rules upstream   the configuration is read as upstream reads it, with the texts of upstream;
//                      DEL succeeds if the API server cannot be reached or refuses
//   --sticky pod       a new container of a Pod name gets the address of the container before, as
//                      upstream does
//   --record FOLDER    the containers that this Node has added, for GC. Without it, GC frees less.
//
// The kubeconfig is that of the configuration (`kubernetes.kubeconfig`), else that of KUBECONFIG.
// The Node is NODENAME, else the name of the host. It writes one JSON text to stdout and ends with
// status 0 or 1.
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { MAX_CNI_STDIN_BYTES } from 'ipam-kit/cni'
import { cniPlugin } from './plugin.js'
import { attachmentFolder } from './record.js'
import { serve } from './serve.js'

const flags = { rules: { type: 'string' }, sticky: { type: 'string' }, record: { type: 'string' } } as const
const { rules, sticky, record } = parseArgs({ options: flags }).values

const plugin = cniPlugin({
  rules: oneOf('rules', rules, 'upstream'),
  sticky: oneOf('sticky', sticky, 'pod'),
  record: record === undefined ? undefined : attachmentFolder(record),
  kubeconfig: process.env.KUBECONFIG,
  nodeName: process.env.NODENAME || hostname(),
  allowsOwnNamespace: ['1', 'TRUE'].includes((process.env.CNI_NETNS_OVERRIDE ?? '').toUpperCase()),
})
const limits = { maxBytes: MAX_CNI_STDIN_BYTES, timeoutMs: 10_000 }
const options = { knownArgs: ['IP', 'GATEWAY'] }
const { stdout, exitCode } = await serve(plugin, { env: process.env, stdin: process.stdin, limits, options })
// a runtime that has closed its end does not read the answer
process.stdout.once('error', () => process.exit(1))
process.stdout.write(stdout, () => process.exit(exitCode))

function oneOf<T extends string>(flag: string, value: string | undefined, only: T): T | undefined {
  if (value === undefined) return undefined
  if (value === only) return only
  console.error(`--${flag} is ${only} or left out`)
  process.exit(2)
}
