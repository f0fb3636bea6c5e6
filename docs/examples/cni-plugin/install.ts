#!/usr/bin/env node
// Installs the plugin on a node, and renews its kubeconfig whenever the token turns:
//
//   install.ts --plugin FILE --bin FOLDER --kubeconfig FILE [--name NAME] [--args 'ARGS'] [--once]
//
// It runs in a Pod, and takes the service account of that Pod. Each file is written beside its
// place and renamed: a runtime never calls half of a plugin.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { installPlugin, renewKubeconfig } from './install-files.js'
import { INSTALL_FLAGS } from './install-flags.js'

/** Kubelet renews a token after 80 % of its time, at least a minute before its end. */
const EVERY_MS = 10_000

const { plugin, bin, kubeconfig, name, args, once } = parseArgs({ options: INSTALL_FLAGS }).values
if (plugin === undefined || bin === undefined || kubeconfig === undefined) {
  console.error('--plugin, --bin and --kubeconfig are needed')
  process.exit(2)
}
const account = {
  folder: '/var/run/secrets/kubernetes.io/serviceaccount',
  host: process.env.KUBERNETES_SERVICE_HOST ?? '',
  port: process.env.KUBERNETES_SERVICE_PORT ?? '443',
}
process.once('SIGTERM', () => process.exit(0))
if (renewKubeconfig(kubeconfig, account)) console.log(`wrote ${kubeconfig}`)
installPlugin({ plugin, bin, name, args })
console.log(`installed ${name} in ${bin}`)
while (!once) {
  await sleep(EVERY_MS)
  if (renewKubeconfig(kubeconfig, account)) console.log(`wrote ${kubeconfig}`)
}
