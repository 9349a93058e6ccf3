// Writes the .vdb files of tests/volumes/data. Voxel (x, y, z) is a function of its coordinates, see
// ../expected_vdb.py.
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <fstream>
using namespace openvdb;

int number(int x, int y, int z) { return ((x * 7 + y * 13 + z * 29) % 101 + 101) % 101; }
template <class T>
T value(int n) {
    return T(n);
}
template <>
float value<float>(int n) {
    return n * 0.5f + 0.25f;
}
template <>
double value<double>(int n) {
    return n * 0.5 + 0.25;
}
template <>
bool value<bool>(int n) {
    return n % 2;
}
template <>
Vec3s value<Vec3s>(int n) {
    return Vec3s(n, n * 0.5f, -n);
}
template <>
Vec3d value<Vec3d>(int n) {
    return Vec3d(n, n * 0.5, -n);
}
template <>
Vec3i value<Vec3i>(int n) {
    return Vec3i(n, n + 1, -n);
}

// inactive: 0 background, 1 minus background, 2 one other value, 3 both, 4 background and another, 5 two others, 6 many
template <class T>
T inactive(int kind, int n, T bg) {
    switch (kind) {
        case 1:
            return math::negative(bg);
        case 2:
            return value<T>(200);
        case 3:
            return n % 2 ? bg : math::negative(bg);
        case 4:
            return n % 2 ? bg : value<T>(200);
        case 5:
            return n % 2 ? value<T>(202) : value<T>(200);
        case 6:
            return value<T>(200 + n);
    }
    return bg;
}

template <class G>
typename G::Ptr make(const char* name, typename G::ValueType bg, int spread = 7) {
    using T = typename G::ValueType;
    auto grid = G::create(bg);
    auto acc = grid->getAccessor();
    for (int kind = 0; kind < spread; ++kind)
        for (int x = 0; x < 8; ++x)
            for (int y = 0; y < 8; ++y)
                for (int z = 0; z < 8; ++z) {
                    int X = x + 8 * kind - 16, Y = y, Z = z - 8 * (kind % 2), n = number(X, Y, Z);
                    Coord c(X, Y, Z);
                    if (n % 3 == 0)
                        acc.setValueOn(c, value<T>(n));
                    else
                        acc.setValueOff(c, inactive<T>(kind, n, bg));
                }
    grid->tree().addTile(1, Coord(64, 0, 0), value<T>(50), true);  // 8^3
    grid->tree().addTile(1, Coord(72, 0, 0), value<T>(51), false);
    grid->tree().addTile(2, Coord(128, 128, 0), value<T>(52), true);  // 128^3
    grid->tree().addTile(3, Coord(4096, 0, 0), value<T>(53), true);   // 4096^3
    grid->tree().addTile(3, Coord(0, 4096, -4096), value<T>(54), false);
    grid->setName(name);
    return grid;
}
template <>
MaskGrid::Ptr make<MaskGrid>(const char* name, bool, int) {
    auto grid = MaskGrid::create();
    auto acc = grid->getAccessor();
    for (int x = -16; x < 8; ++x)
        for (int y = 0; y < 8; ++y)
            for (int z = 0; z < 8; ++z)
                if (number(x, y, z) % 3 == 0) acc.setValueOn(Coord(x, y, z));
    grid->tree().addTile(1, Coord(64, 0, 0), true, true);
    grid->setName(name);
    return grid;
}
void save(const char* name, GridPtrVec grids, uint32_t compression) {
    io::File f(name);
    f.setCompression(compression);
    f.write(grids);
}
int main() {
    initialize();
    auto types = [] {
        GridPtrVec g{make<FloatGrid>("float", 3.5f),
                     make<DoubleGrid>("double", 3.5),
                     make<Int32Grid>("int32", 1000),
                     make<Int64Grid>("int64", 1000),
                     make<BoolGrid>("bool", true),
                     make<Vec3SGrid>("vec3s", Vec3s(1, 2, 3)),
                     make<Vec3DGrid>("vec3d", Vec3d(1, 2, 3)),
                     make<Vec3IGrid>("vec3i", Vec3i(1, 2, 3)),
                     make<MaskGrid>("mask", false)};
        g[0]->setGridClass(GRID_FOG_VOLUME);
        g[0]->setTransform(math::Transform::createLinearTransform(0.25));
        auto scale = math::Transform::Ptr(new math::Transform(math::MapBase::Ptr(new math::ScaleMap(Vec3d(1, 2, 3)))));
        g[1]->setTransform(scale);
        g[2]->setTransform(math::Transform::Ptr(
            new math::Transform(math::MapBase::Ptr(new math::ScaleTranslateMap(Vec3d(1, 2, 3), Vec3d(4, 5, 6))))));
        g[3]->setTransform(
            math::Transform::Ptr(new math::Transform(math::MapBase::Ptr(new math::TranslationMap(Vec3d(4, 5, 6))))));
        Mat4d m(0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1);
        g[4]->setTransform(math::Transform::createLinearTransform(m));
        g[5]->setTransform(math::Transform::Ptr(
            new math::Transform(math::MapBase::Ptr(new math::UnitaryMap(Vec3d(0, 0, 1), M_PI / 2)))));
        g[6]->setTransform(math::Transform::Ptr(
            new math::Transform(math::MapBase::Ptr(new math::UniformScaleTranslateMap(0.5, Vec3d(4, 5, 6))))));
        g[5]->setGridClass(GRID_STAGGERED);
        g[0]->insertMeta("number", Int32Metadata(7));
        g[0]->insertMeta("offset", Vec3SMetadata(Vec3s(1, 2, 3)));
        g[0]->insertMeta("matrix", Mat4DMetadata(m));
        return g;
    };
    save("types_blosc_mask.vdb", types(), 6);
    save("types_zip_mask.vdb", types(), 3);
    for (int c : {0, 1, 2, 4}) {
        std::string names[] = {"none", "zip", "mask", "", "blosc"};
        save((names[c] + ".vdb").c_str(), {make<FloatGrid>("float", 3.5f), make<Vec3SGrid>("vec3s", Vec3s(1, 2, 3), 3)},
             c);
    }
    GridPtrVec half{make<FloatGrid>("float", 3.5f), make<DoubleGrid>("double", 3.5),
                    make<Vec3SGrid>("vec3s", Vec3s(1, 2, 3)), make<Int32Grid>("int32", 1000)};
    for (auto& g : half) g->setSaveFloatAsHalf(true);
    save("half_blosc_mask.vdb", half, 6);
    save("half_zip_mask.vdb", half, 3);
    // two grids of one name, an instance of the first, an empty grid, a frustum, an unnamed grid
    auto first = make<FloatGrid>("density", 0.0f), second = make<FloatGrid>("density", 1.0f, 2);
    auto instance = first->copy();
    instance->setName("shared");
    instance->setTransform(math::Transform::createLinearTransform(0.5));
    auto empty = Int32Grid::create(9);
    empty->setName("empty");
    auto frustum = FloatGrid::create(0);
    frustum->setName("frustum");
    frustum->setTransform(math::Transform::createFrustumTransform(BBoxd(Vec3d(0), Vec3d(10)), 0.5, 2.0, 1.0));
    auto unnamed = make<FloatGrid>("", 0.0f, 1);
    GridPtrVec several{first, second, instance, empty, frustum, unnamed};
    save("several.vdb", several, 6);
    std::ofstream out("stream.vdb", std::ios::binary);
    io::Stream s(out);
    s.setCompression(6);
    s.write({first, instance, second});
}
