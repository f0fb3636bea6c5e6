import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { type CniAnswer, MAX_CNI_STDIN_BYTES } from 'ipam-kit/cni'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { cniPlugin, type PluginOptions } from './plugin.js'
import { attachmentFolder } from './record.js'
import { serve } from './serve.js'

/** What the flags of the program say. */
export interface ProgramFlags {
  readonly rules?: 'upstream' | undefined
  readonly sticky?: 'pod' | undefined
  readonly claimOwners?: readonly KindInfo[] | undefined
  readonly record?: string | undefined
}

type Environment = { readonly [name: string]: string | undefined }

/** The options of the plugin, by the flags and the environment of this process. */
export function optionsOf({ rules, sticky, claimOwners, record }: ProgramFlags, env: Environment): PluginOptions {
  return {
    rules,
    sticky,
    claimOwners,
    record: record === undefined ? undefined : attachmentFolder(record),
    kubeconfig: env.KUBECONFIG,
    nodeName: env.NODENAME || hostname(),
    allowsOwnNamespace: ['1', 'TRUE'].includes((env.CNI_NETNS_OVERRIDE ?? '').toUpperCase()),
  }
}

/** A call that this process carries out itself. */
export function runThin(flags: ProgramFlags, env: Environment, stdin: Readable): Promise<CniAnswer> {
  const limits = { maxBytes: MAX_CNI_STDIN_BYTES, timeoutMs: 10_000 }
  const options = { knownArgs: ['IP', 'GATEWAY'] }
  return serve(cniPlugin(optionsOf(flags, env)), { env, stdin, limits, options })
}
