/**
 * The layers, as rules. Arrows point down only:
 *
 *   6 testing                 everything below; imported by nobody
 *   5 run, render             plan, store contract, allocator, cidr, errors, types of crd/meta
 *   4 provider                plan, claim, allocator, crd, cidr, errors; never each other, but for provider/claims; in-cluster-blocks is made of two
 *   3 plan                    types of crd, errors
 *   3 store contract          crd/meta, errors
 *   3 store rules, engine     the contract, crd/meta, bytes, errors; the engine: the rules too
 *   3 store sql               what databases with SQL share: as the engine, and the engine
 *   3 store adapters          the contract, the rules, the engine, sql, crd/meta, bytes, errors; never each other
 *   2 allocator               cidr, bytes, errors
 *   2 claim                   errors
 *   2 crd                     cidr, errors, zod; a group: crd/meta as well
 *   1 cidr                    bytes, errors; ip-address in cidr/forms/ip-address.ts
 *   0 errors, bytes           nothing
 *
 * A folder may always import itself. Each layer has one allow-list below: what is not in it is an error.
 */

const contract = '^src/store/[^/]+\\.ts$'

/** `from` may import itself and `may`, of everything under src/. */
const layer = (name, from, may, comment) => ({
  name: `layer-${name}`,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: [from, ...may] },
})

/** `from` may import `path` for its types only. */
const typesOnly = (name, from, path, pathNot) => ({
  name: `types-only-${name}`,
  comment: 'Write `import type`: this layer may know the shape, and must not run the code.',
  severity: 'error',
  from: { path: from },
  to: { path, ...(pathNot ? { pathNot } : {}), dependencyTypesNot: ['type-only'] },
})

/** Only files matching `from` may import the package `name`. */
const packageOnlyFrom = (name, from) => ({
  name: `package-${name}`,
  comment: `In src/, ${name} may be imported from ${from} only.`,
  severity: 'error',
  from: { path: '^src/', pathNot: from },
  to: { path: [`(^|/)node_modules/${name}/`, `^${name}(/|$)`] },
})

module.exports = {
  forbidden: [
    layer('errors', '^src/errors/', [], 'errors imports nothing.'),
    layer('bytes', '^src/bytes/', [], 'bytes imports nothing.'),
    layer('cidr', '^src/cidr/', ['^src/bytes/', '^src/errors/'], 'cidr imports bytes and errors.'),
    {
      name: 'cidr-forms',
      comment: 'cidr/forms brings ip-address with it: it is an entry of its own, and nothing else in src/ imports it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cidr/forms/' },
      to: { path: '^src/cidr/forms/' },
    },
    layer(
      'allocator',
      '^src/allocator/',
      ['^src/cidr/', '^src/bytes/', '^src/errors/'],
      'allocator imports cidr, bytes and errors.',
    ),
    layer('claim', '^src/claim/', ['^src/errors/'], 'claim imports errors.'),
    layer('crd', '^src/crd/', ['^src/cidr/', '^src/errors/'], 'crd imports cidr and errors.'),
    layer('plan', '^src/plan/', ['^src/crd/', '^src/errors/'], 'plan imports types of crd, and errors.'),
    layer(
      'provider',
      '^src/provider/',
      ['^src/plan/', '^src/claim/', '^src/allocator/', '^src/crd/', '^src/cidr/', '^src/errors/'],
      'A provider decides: it knows no store and runs nothing.',
    ),
    {
      name: 'layer-provider-room',
      comment:
        'A provider imports no other provider. provider/claims is the life of claims that those of Cluster API are built on; in-cluster-blocks is the in-cluster provider on blocks.',
      severity: 'error',
      from: { path: '^src/provider/([^/]+)/', pathNot: '^src/provider/in-cluster-blocks/' },
      to: { path: '^src/provider/', pathNot: ['^src/provider/$1/', '^src/provider/claims/'] },
    },
    {
      name: 'layer-provider-in-cluster-blocks',
      comment: 'The in-cluster provider on blocks: these two, and the life of claims.',
      severity: 'error',
      from: { path: '^src/provider/in-cluster-blocks/' },
      to: { path: '^src/provider/', pathNot: '^src/provider/(in-cluster-blocks|in-cluster|blocks|claims)/' },
    },
    layer(
      'store-contract',
      '^src/store/[^/]+\\.ts$',
      ['^src/crd/meta/', '^src/errors/'],
      'The store contract imports crd/meta and errors, and no adapter.',
    ),
    layer(
      'store-rules',
      '^src/store/rules/',
      [contract, '^src/crd/meta/', '^src/bytes/', '^src/errors/'],
      'What an API server does with an object: the contract, crd/meta, bytes and errors.',
    ),
    layer(
      'store-engine',
      '^src/store/engine/',
      [contract, '^src/store/rules/', '^src/crd/meta/', '^src/errors/'],
      'The store over an engine: the contract, the rules, crd/meta and errors.',
    ),
    layer(
      'store-sql',
      '^src/store/sql/',
      [contract, '^src/store/(rules|engine)/', '^src/crd/meta/', '^src/errors/'],
      'What databases with SQL share: the contract, the rules, the engine, crd/meta and errors.',
    ),
    {
      name: 'layer-store-adapter',
      comment: 'A store adapter imports the contract, the rules, the engine and sql: never another adapter.',
      severity: 'error',
      from: { path: '^src/store/([^/]+)/', pathNot: '^src/store/(rules|engine|sql)/' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/store/$1/',
          contract,
          '^src/store/(rules|engine|sql)/',
          '^src/crd/meta/',
          '^src/bytes/',
          '^src/errors/',
        ],
      },
    },
    ...['run', 'render'].map((name) =>
      layer(
        name,
        `^src/${name}/`,
        ['^src/plan/', contract, '^src/allocator/', '^src/cidr/', '^src/errors/', '^src/crd/meta/'],
        `${name} imports plan, the store contract, allocator, cidr, errors, and types of crd/meta.`,
      ),
    ),
    layer(
      'root',
      '^src/index\\.ts$',
      ['^src/(errors|cidr|allocator|claim|plan)/'],
      'The root entry stays free of zod: errors, cidr, allocator, claim and plan only.',
    ),
    {
      name: 'layer-testing',
      comment: 'testing is for users and for our own tests: nothing in src/ imports it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/' },
      to: { path: '^src/testing/' },
    },
    {
      name: 'layer-known',
      comment: 'Every folder of src/ has a layer. A new one needs a rule here and a line in CONTRIBUTING.md.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/(errors|bytes|cidr|allocator|claim|crd|plan|provider|store|run|render|testing)/',
          '^src/index\\.ts$',
        ],
      },
      to: {},
    },

    {
      name: 'crd-group',
      comment: 'A CRD group imports crd/meta, crd/core and the shared files of crd/, not another group.',
      severity: 'error',
      from: { path: '^src/crd/([^/]+)/', pathNot: '^src/crd/(meta|core|in-cluster)/' },
      to: { path: '^src/crd/[^/]+/', pathNot: ['^src/crd/$1/', '^src/crd/(meta|core)/'] },
    },
    {
      name: 'crd-core',
      comment: 'The kinds of Kubernetes itself are read by all groups, and know none.',
      severity: 'error',
      from: { path: '^src/crd/core/' },
      to: { path: '^src/crd/[^/]+/', pathNot: '^src/crd/(core|meta)/' },
    },
    {
      name: 'crd-meta',
      comment: 'crd/meta is below the groups.',
      severity: 'error',
      from: { path: '^src/crd/meta/' },
      to: { path: '^src/crd/[^/]+/', pathNot: '^src/crd/meta/' },
    },
    {
      name: 'crd-in-cluster',
      comment: 'crd/in-cluster imports crd/meta, and types of crd/cluster-api.',
      severity: 'error',
      from: { path: '^src/crd/in-cluster/' },
      to: { path: '^src/crd/[^/]+/', pathNot: '^src/crd/(in-cluster|meta|cluster-api)/' },
    },
    typesOnly('in-cluster-cluster-api', '^src/crd/in-cluster/', '^src/crd/cluster-api/'),
    // object.ts, patch.ts and names.ts are the vocabulary of Kubernetes objects, without a schema: references, patches and valid names
    typesOnly('plan-crd', '^src/plan/', '^src/crd/', '^src/crd/meta/(object|patch)\\.ts$'),
    typesOnly(
      'store-run-render-meta',
      '^src/(store|run|render)/',
      '^src/crd/meta/',
      '^src/crd/meta/(object|patch|names)\\.ts$',
    ),

    packageOnlyFrom('zod', '^src/crd/'),
    packageOnlyFrom('ip-address', '^src/cidr/forms/ip-address\\.ts$'),
    packageOnlyFrom('fast-check', '^src/testing/'),
    {
      name: 'package-other',
      comment:
        'src/ runs on zod, ip-address and, in testing, the optional peer fast-check. Anything else needs a decision record.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown'],
        pathNot: '(^|/)node_modules/(zod|ip-address|fast-check)/',
      },
    },
    {
      name: 'package-dev',
      comment: 'What src/ imports must be installed with the package.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'npm-peer', 'type-only'] },
    },

    {
      name: 'no-node-core',
      comment: 'No I/O in src/: nothing of Node, not even a type.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-cycles',
      comment:
        'No cycle, not even of types: types that two files need have a file of their own.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file of src/ that nothing imports and that is no entry is dead.',
      severity: 'error',
      from: { path: '^src/', pathNot: '(^|/)index\\.ts$', orphan: true },
      to: {},
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'src-stands-alone',
      comment: 'src/ imports nothing of this repository but src/.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|docs|scripts)/' },
    },
    {
      name: 'public-api-only',
      comment: 'Examples and acceptance adapters see what a user sees: `ipam-kit` and its entries.',
      severity: 'error',
      from: { path: '^(docs/examples|test/acceptance)/' },
      to: { path: '^src/', pathNot: '(^|/)index\\.ts$' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|test/real)/' },
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default', 'node'],
      extensions: ['.ts', '.mts', '.d.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
