#!/usr/bin/env node
// Makes a single executable of the bundle of executable.ts and the Node that runs this program:
//
//   tsx build-executable.ts executable.cjs ipam-kit
//
// Node runs the bundle now, and the executable starts from the memory that it has then.
// Node does it by itself from 25.5 on. Before, the npm package postject writes the program into a
// copy of Node. The file is complete when it has its name.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Where Node expects the program: a constant of Node. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const [bundle, executable] = process.argv.slice(2)
if (bundle === undefined || executable === undefined) {
  console.error('usage: build-executable.ts BUNDLE EXECUTABLE')
  process.exit(2)
}
const folder = mkdtempSync(join(dirname(resolve(executable)), '.build-'))
try {
  const [config, part] = [join(folder, 'sea.json'), join(folder, 'executable')]
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const canBuild = major > 25 || (major === 25 && minor >= 5)
  const output = canBuild ? part : join(folder, 'blob')
  const main = resolve(bundle)
  writeFileSync(config, JSON.stringify({ main, output, useSnapshot: true, disableExperimentalSEAWarning: true }))
  run(process.execPath, canBuild ? '--build-sea' : '--experimental-sea-config', config)
  if (!canBuild) {
    copyFileSync(process.execPath, part)
    run('npx', '-y', 'postject@1.0.0-alpha.6', part, 'NODE_SEA_BLOB', output, '--sentinel-fuse', FUSE)
  }
  chmodSync(part, 0o755)
  renameSync(part, executable)
} finally {
  rmSync(folder, { recursive: true })
}

function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
