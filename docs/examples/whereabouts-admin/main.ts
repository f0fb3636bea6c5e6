#!/usr/bin/env node
// Addresses of whereabouts networks, for operators: shows them, releases one, and upgrades a pool
// of whereabouts to blocks.
//
//   main.ts show [--pool NAME] [--output json]
//   main.ts release ADDRESS --pod NAMESPACE/NAME [--container ID] [--pool NAME] [--force]
//       [--dry-run]
//   main.ts upgrade plan [--pool NAME] [--output json]
//   main.ts upgrade start|copy|verify|cut-over|finish --pool NAME [--dry-run] [--output json]
//   main.ts upgrade roll-back --to dual-write|none --pool NAME [--dry-run] [--output json]
//
// upgrade finish leaves an empty pool: delete it when no configuration of the type whereabouts names
// its range. The Lease of upstream stays held: delete it when the plugin of upstream may write.
//
// An upgrade also takes --skip-definition NAMESPACE/NAME, once for each definition that is not of
// whereabouts though it cannot be read, and --lease-holder NAME.
//
// Each command takes --pool-namespace NS: the namespace of the objects of whereabouts. Left out:
// WHEREABOUTS_NAMESPACE, else kube-system. With --no-blocks it needs no kinds of blocks.
//
// The kubeconfig is that of KUBECONFIG. rbac.yaml is what the program may do. Ends with status
//   0 if it did what was asked for
//   1 if the API server cannot be reached or refuses a request
//   2 for wrong flags
//   3 if the state of the cluster does not allow it: the output says why
//   4 if it has to be run again: another writer was faster, or pools were created
import { openStore } from '../open-store.js'
import { foreseen } from '../program/foreseen.js'
import { admin } from './admin.js'

try {
  process.exitCode = await admin(process.argv.slice(2), {
    env: process.env,
    open: (kinds) => openStore({ engine: 'kubernetes', place: '' }, { kinds, load: (name) => import(name) }),
    print: (text) => console.log(text),
    complain: (text) => console.error(text),
    now: Date.now,
  })
} catch (error) {
  console.error(foreseen(error))
  process.exitCode = 1
}
